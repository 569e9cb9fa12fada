import { createHash } from 'node:crypto';

import { readBudget } from '../billing/budget';
import { reportTokens } from '../billing/report-tokens';
import type {
  BillingLine,
  CallToTake,
  ClaimRequest,
  Family,
  Identity,
  LedgerStore,
  Reservation,
  RunKey,
  TaskLimit,
} from '../contracts/ledger/ledger';
import type { Outbox } from '../contracts/ledger/outbox';
import type { AgentResult, RunStatus } from '../contracts/result';
import { TASK_DEFAULTS } from '../contracts/task-options';
import type { TenantSnapshot } from '../contracts/tenant';
import type { ToolCallRecord } from '../contracts/tools/tool-call';
import type { ToolRun } from '../contracts/tools/tool-run';
import type { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { newId } from '../util/clock';
import { canonicalJson, type JsonObject } from '../util/json';
import { openAccount, type RunAccount } from './account';
import { claimRun } from './claim';
import { startRunRecord } from './run-record';

/** A run that makes one call and no step: whatever a program or a person calls outside a task. */
export interface SingleRun extends Pick<ToolRun, 'key'> {
  readonly account: RunAccount;
  /** Where it stands; undefined for one that is no part of a task. */
  readonly family?: Family;
  readonly bill: BillingLine;
  /** Takes the call off limits of its task; resolves with the one that is reached. Without a task each call has its own. */
  readonly takeOfTask: (limits: readonly TaskLimit[]) => Promise<TaskLimit | undefined>;
  /** Takes the call off its limits; returns the reason when it must not be made. */
  readonly take: (call: CallToTake) => Promise<string | undefined>;
  /** Ends the run, with a line of the audit. Never rejects, since the call was made: resolves with why the end could not be written. */
  readonly end: (status: RunStatus, line?: ToolCallRecord) => Promise<RuntimeError | undefined>;
}

export interface RunLedger {
  readonly ledger: LedgerStore;
  readonly outbox?: Outbox;
  readonly leaseMs: number;
}

/** The one call of a run that does nothing but ask a model. */
export interface SingleModelCall {
  /** Id in the price table. */
  readonly modelId: string;
  readonly reserve?: Reservation;
  /** Nothing is billed as long as it costs nothing. */
  readonly isFree: boolean;
  /** Retries of the write that ends the run, which also holds the usage. */
  readonly settleRetries: number;
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
    /** Set where the call is one of a model: it is opened with the claim, as the first step. */
    readonly model?: SingleModelCall;
  },
): Promise<SingleRun> {
  const { kind, call: name, within, snapshot, input, identity, signal, model } = asked;
  const { id: tenantId, settings } = snapshot.tenant;
  const { tier = settings.defaultTier ?? TASK_DEFAULTS.agent_tier } = asked;
  const budget = readBudget(settings, {});
  const runId = newId();
  const key: RunKey = { tenantId, taskId: within === undefined ? `${kind}-${runId}` : `${within}/${runId}`, runId };
  const family = within === undefined ? undefined : familyIn(within, `${name}/${runId}`);
  const digest = createHash('sha256').update(canonicalJson(input)).digest('hex');
  const { opening, opened, lastStep, modelId, settleRetries, isFree } = callOf(model);
  await claimRun(ledger, { ...key, ...identity, family, digest, fresh: false, leaseMs, ...opening }, signal);
  // What a tenant with a limit uses is always written down, since the limit is counted there.
  const bill = { tier, taskType: kind, onlyWhatCosts: budget.monthly === undefined && isFree };
  const record = startRunRecord({ ledger, outbox, key, family, identity, leaseMs, settleRetries, bill });
  const account = openAccount({ record, budget, prices: snapshot.prices, modelId, opened, signal });
  return {
    ...{ key, account, family, bill },
    takeOfTask: (limits) => takeOfTask(ledger, { tenantId, taskId: within }, limits),
    take: async (call) => {
      const recorded = await record.next({ taking: [call] }, signal);
      return recorded?.refused?.[0]?.reason;
    },
    end: async (status, line) => {
      const { costUsd, usage } = account.meter.totals();
      const result: AgentResult = {
        ...{ task_id: key.taskId, run_id: runId, status, result: { text: '', tool_calls: [] } },
        ...{ model_used: modelId, agent_tier: tier, iterations: lastStep, cost_usd: costUsd, warnings: [] },
        tokens: reportTokens(usage),
        duration_ms: line?.durationMs ?? 0,
      };
      if (line !== undefined) record.audit(line);
      const end = { state: 'done', result, lastStep, unsent: account.unsent() } as const;
      return record.settle(end, account.lost()).then(() => undefined, toRuntimeError);
    },
  };
}

/** Number of the step that a model call is. */
const STEP = 1;
/** A call of a tool opens nothing. Its answer waits for the end, so that is tried once. */
const NO_MODEL = { opened: undefined, opening: {}, lastStep: 0, modelId: '', settleRetries: 0, isFree: true };

function callOf(model: SingleModelCall | undefined): typeof NO_MODEL | (SingleModelCall & CallOpened) {
  if (model === undefined) return NO_MODEL;
  const { modelId: modelRequested, reserve } = model;
  return { ...model, opened: STEP, lastStep: STEP, opening: { modelRequested, reserve } };
}

interface CallOpened {
  readonly opened: number;
  readonly lastStep: number;
  readonly opening: Pick<ClaimRequest, 'modelRequested' | 'reserve'>;
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
