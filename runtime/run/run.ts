import type { Budget } from '../billing/budget';
import type { OnEvent } from '../contracts/event';
import type { BillingLine, Family, LedgerStore, RunKey } from '../contracts/ledger/ledger';
import type { Outbox } from '../contracts/ledger/outbox';
import type { Progress } from '../contracts/ledger/progress';
import type { SessionKey } from '../contracts/ledger/session';
import type { Message } from '../contracts/message';
import type { Model, Models } from '../contracts/model';
import type { HostOptions } from '../contracts/run';
import type { RunMode, TaskConfig } from '../contracts/task';
import type { Agent, AgentDefinition, TenantSnapshot, TenantStore } from '../contracts/tenant';
import type { Toolset } from '../contracts/tools/tool';
import type { RunPart } from '../contracts/tools/tool-run';
import type { ErrorSummary, RuntimeError } from '../errors/runtime-error';
import type { RunAccount } from '../ledger/account';
import type { LoopInput, LoopSettings } from '../loop/loop-contract';
import type { SelectedModel } from '../models/select-model';
import type { ReadyTask } from '../tasks/read-task';
import type { SelectTools } from '../toolsets/combine-sources';
import type { ToolLists } from '../toolsets/tool-source';
import type { Deadline } from '../util/abort';
import type { JsonValue } from '../util/json';
import type { Redact } from '../util/redaction/redact';

/** What all runs of a runtime share. */
export interface RunEnvironment {
  readonly tenants: TenantStore;
  readonly ledger: LedgerStore;
  /** Undefined where there is none: then an end that the ledger cannot take is told in the result's warnings. */
  readonly outbox?: Outbox;
  readonly models: Models;
  /** Agents of this process. */
  readonly agents: readonly AgentDefinition[];
  /** Configured services: `the SQL role`, `Redis`. Default: none. */
  readonly services?: readonly string[];
  readonly selectTools: SelectTools;
  /** A run that was not heard of for this many milliseconds counts as lost. */
  readonly leaseMs: number;
  /** Blanks every secret that this tenant's runs know. */
  readonly redactorFor: (tenant: TenantSnapshot) => Redact;
}

/** The run that another one works for. */
interface Parent {
  /** Where the child stands. */
  readonly family: Family;
  readonly account: RunAccount;
  /** The line of the root; undefined where it has none. */
  readonly bill?: BillingLine;
  /** Is told whether the child holds its task, and its variables once it has ended. */
  readonly claim: { isHeld: boolean; variables?: ReadonlyMap<string, JsonValue> };
  readonly inherited: Inherited;
  /** Counts among the runs of the minute, since what it works for is none. Default: false. */
  readonly isCounted?: boolean;
  /** Levels of agents from the root down to the child; a part of a run is none. */
  readonly level: number;
  /** Set for a run that is the agent of the parent at work on a part of its task. */
  readonly part?: RunPart & {
    /** Settings in place of those of its task, which only tells the parts apart. */
    readonly settings: Partial<TaskConfig>;
  };
}

/** Settings that a run has from the tasks that it works for. */
export interface Inherited extends Partial<
  Pick<TaskConfig, 'variables' | 'context' | 'max_tool_calls' | 'max_calls_per_tool'>
> {
  /** Rules for tools of all these tasks; each can only narrow. */
  readonly rules: readonly ToolLists[];
  /** Any of these tasks has a limit of money, so that a model must have a price. */
  readonly isCostLimited: boolean;
  /** The code of the parent's tier, for a run that has none of its own. Default: the tenant's. */
  readonly tier?: string;
  /** No person can be asked: tools that need an approval are left out. Default: false. */
  readonly isUnattended?: boolean;
}

/** A task that was read. */
export interface Run {
  /** The task as it was asked. Its digest tells requests apart; a run that waited goes on under the ids on record. */
  readonly request: ReadyTask;
  readonly host: HostOptions;
  /** Its signal is the only one of a run. */
  readonly deadline: Deadline;
  readonly startedAt: number;
  /** Set for a run that works for a tool call of another one. */
  readonly parent?: Parent;
  /** Set for a run that goes on, or is part of one: the agent that it began with, null for none. */
  readonly began?: Agent | null;
}

/** A model in place of that of the run, for steps of one purpose. */
export interface OtherModel extends Pick<ModelsOfRun, 'model' | 'modelIds'> {
  readonly settings: Pick<LoopSettings, 'modelId' | 'temperature' | 'maxTokens' | 'modelSilenceMs'>;
}

/** How a run makes and follows plans. */
export interface PlanningSettings {
  readonly mode: Exclude<RunMode, 'direct'>;
  /** Default: the model of the run, as for all three. */
  readonly planner?: OtherModel;
  readonly supervisor?: OtherModel;
  /** The code of the tier of its steps. */
  readonly stepTier?: string;
}

/** The models that a run asks. */
interface ModelsOfRun {
  readonly selected: SelectedModel;
  /** Answers for `selected`, or for a fallback. */
  readonly model: Model;
  /** Every id that a call may be billed under. */
  readonly modelIds: readonly string[];
  /** Undefined in the mode `direct`. */
  readonly planning?: PlanningSettings;
}

/** The conversation that a run belongs to, and the limits of its tenant. */
export interface RunSession extends SessionKey {
  readonly windowTokens: number;
  readonly days: number;
}

/** Which model, which limits, which tools: decided before anything is claimed, called or spent. */
export interface RunPlan extends Pick<LoopInput, 'toolset' | 'settings' | 'format'>, ModelsOfRun {
  /** Settings in force: those of the task under the agent's. */
  readonly config: TaskConfig;
  /** The agent as it is now, or was when the run began that this one goes on from. */
  readonly agent?: Agent;
  /** Instructions of its tool sources, then of the tenant. They stay the same as long as a task runs. */
  readonly instructions: readonly string[];
  readonly budget: Budget;
  /** The conversation that it belongs to. */
  readonly session?: RunSession;
  /** Whether the task gets a line in the billing table: of a free tier only what costs something after all. */
  readonly billed: 'everything' | 'what-costs' | 'nothing';
  readonly warnings: readonly ErrorSummary[];
}

/** A run that knows its tenant, and what it may do. Nothing has been claimed, called or spent. */
export interface PlannedRun extends Run {
  readonly tenant: TenantSnapshot;
  readonly plan: RunPlan;
  /** Chooses the tools again, under the rules of now. Rejects with TENANT_INACTIVE, or where a source cannot be read. */
  readonly toolsOfNow: () => Promise<Toolset>;
  readonly redact: Redact;
  /** Resources of the host that it uses: see `SavedRun.needs`. */
  readonly needs: readonly string[];
}

/** A run that holds its task. */
export interface ClaimedRun extends PlannedRun {
  readonly key: RunKey;
  /** The transcript up to the first model call; not read by a run that goes on. */
  readonly opening: readonly Message[];
  /** The step whose model call was opened with the claim; undefined where tool calls come first. */
  readonly opened?: number;
  /** Set when it goes on with what an earlier run has done: one that waited, failed or was lost. */
  readonly earlier?: Progress;
  /** Why it cannot go on; told before anything is called. */
  readonly refusal?: RuntimeError;
  /** Tools may set them. */
  readonly variables: Map<string, JsonValue>;
  readonly emit: OnEvent;
}
