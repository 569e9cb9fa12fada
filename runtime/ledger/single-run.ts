import { createHash } from 'node:crypto';

import { readBudget } from '../billing/budget';
import { reportTokens } from '../billing/report-tokens';
import type { CallToTake, Family, Identity, LedgerStore, RunKey, TaskLimit } from '../contracts/ledger/ledger';
import type { Outbox } from '../contracts/ledger/outbox';
import type { AgentResult, RunStatus } from '../contracts/result';
import { TASK_DEFAULTS } from '../contracts/task-options';
import type { TenantSnapshot } from '../contracts/tenant';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import type { ToolRun } from '../contracts/tools/tool-run';
import { newId } from '../util/clock';
import { canonicalJson, type JsonObject } from '../util/json';
import { openAccount } from './account';
import { claimRun } from './claim';
import { startRunRecord } from './run-record';

/** A run that makes one call and no step: whatever a program or a person calls outside a task. */
export interface SingleRun extends Pick<ToolRun, 'key' | 'account'> {
  /** Takes the call off limits of its task; resolves with the one that is reached. Without a task each call has its own. */
  readonly takeOfTask: (limits: readonly TaskLimit[]) => Promise<TaskLimit | undefined>;
  /** Takes the call off its limits; returns the reason when it must not be made. */
  readonly take: (call: CallToTake) => Promise<string | undefined>;
  /** Ends the run, with a line of the audit. Never rejects: the call was made, and its answer is not taken away. */
  readonly end: (status: RunStatus, line?: ToolCallRecord) => Promise<void>;
}

export interface RunLedger {
  readonly ledger: LedgerStore;
  readonly outbox?: Outbox;
  readonly leaseMs: number;
}

/**
 * Puts the run on record; nothing is reserved yet, and it stands on the bill only with what its call spends. `kind` is the type of its
 * line; with `within` that is the line of another task, which need not be on record. Rejects with a DB_ code or SETTING_INVALID.
 */
export async function beginSingleRun(
  { ledger, outbox, leaseMs }: RunLedger,
  asked: {
    readonly kind: string;
    /** Name of what is called. */
    readonly call: string;
    readonly within?: string;
    readonly snapshot: TenantSnapshot;
    readonly tier?: string;
    readonly input: JsonObject;
    readonly identity: Identity;
    readonly signal: AbortSignal;
  },
): Promise<SingleRun> {
  const { kind, call: name, within, snapshot, input, identity, signal } = asked;
  const { id: tenantId, settings } = snapshot.tenant;
  const { tier = settings.defaultTier ?? TASK_DEFAULTS.agent_tier } = asked;
  const budget = readBudget(settings, {});
  const runId = newId();
  const key: RunKey = { tenantId, taskId: within === undefined ? `${kind}-${runId}` : `${within}/${runId}`, runId };
  const family = within === undefined ? undefined : familyIn(within, `${name}/${runId}`);
  const digest = createHash('sha256').update(canonicalJson(input)).digest('hex');
  await claimRun(ledger, { ...key, ...identity, family, digest, fresh: false, leaseMs }, signal);
  // What a tenant with a limit uses is always written down, since the limit is counted there.
  const bill = { tier, taskType: kind, onlyWhatCosts: budget.monthly === undefined };
  // The answer waits for the end, so that is tried once.
  const record = startRunRecord({ ledger, outbox, key, family, identity, leaseMs, settleRetries: 0, bill });
  const account = openAccount({ record, budget, prices: snapshot.prices, modelId: '', signal });
  return {
    key,
    account,
    takeOfTask: (limits) => takeOfTask(ledger, { tenantId, taskId: within }, limits),
    take: async (call) => {
      const recorded = await record.next({ taking: [call] }, signal);
      return recorded?.refused?.[0]?.reason;
    },
    end: async (status, line) => {
      const { costUsd, usage } = account.meter.totals();
      const result: AgentResult = {
        ...{ task_id: key.taskId, run_id: runId, status, result: { text: '', tool_calls: [] } },
        ...{ model_used: '', agent_tier: tier, iterations: 0, cost_usd: costUsd, warnings: [] },
        tokens: reportTokens(usage),
        duration_ms: line?.durationMs ?? 0,
      };
      if (line !== undefined) record.audit(line);
      await record.settle({ state: 'done', result, lastStep: 0, unsent: account.unsent() }).catch(() => undefined);
    },
  };
}

function familyIn(rootTaskId: string, parentCallId: string): Family {
  return { rootTaskId, above: [], parentCallId };
}

async function takeOfTask(
  ledger: LedgerStore,
  { tenantId, taskId }: { readonly tenantId: string; readonly taskId: string | undefined },
  limits: readonly TaskLimit[],
): Promise<TaskLimit | undefined> {
  if (taskId === undefined) return undefined;
  for (const limit of limits) {
    if ((await ledger.takeOfTask?.({ tenantId, taskId, ...limit })) !== true) return limit;
  }
  return undefined;
}
