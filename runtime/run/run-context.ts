import type { OnEvent } from '../contracts/event';
import type { LedgerStore } from '../contracts/ledger';
import type { Model } from '../contracts/model';
import type { Outbox } from '../contracts/outbox';
import type { RunOptions } from '../contracts/run';
import type { TenantSnapshot, TenantStore } from '../contracts/tenant';
import type { RuntimeError } from '../errors/runtime-error';
import type { SelectTools } from '../toolsets/combine-sources';
import type { Deadline } from '../util/abort';
import type { Redact } from '../util/redact';
import type { Claimed } from './claim-run';
import type { PlanRequest, RunPlan } from './plan-run';

/** The adapters that one run works with. */
export interface AgentParts {
  readonly tenants: TenantStore;
  readonly ledger: LedgerStore;
  /** Undefined where there is none: then an end that the ledger cannot take is told in the result's warnings. */
  readonly outbox?: Outbox;
  /** Undefined where the configuration has none: then each run needs a connected one. */
  readonly model: Model | undefined;
  readonly selectTools: SelectTools;
  /** A run that was not heard of for so long is taken for lost. */
  readonly leaseMs: number;
  /** Blanks every secret that this tenant's runs know. */
  readonly redactorFor: (snapshot: TenantSnapshot) => Redact;
}

/** A run that holds its task. */
export interface ClaimedRun extends Extract<Claimed, { kind: 'claimed' }> {
  readonly parts: AgentParts;
  readonly plan: RunPlan;
  readonly request: PlanRequest;
  readonly deadline: Deadline;
  readonly stopError: () => RuntimeError | undefined;
  readonly emit: OnEvent;
  readonly redact: Redact;
  readonly startedAt: number;
  readonly options: RunOptions;
}
