import type { JsonObject } from '../../util/json';

export type Decision = 'allow' | 'deny' | 'ask';

/** What one level of rules, or all of them together, says on the calls of one tool. */
export interface ToolPermission {
  readonly decision: Decision;
  /**
   * Numbers are moved into these limits; one that is absent gets the limit. By argument, `a.b` for one within another.
   */
  readonly limits: Readonly<Record<string, NumericLimit>>;
  /** Lists of patterns by argument: the value must match one of each list. */
  readonly patterns: Readonly<Record<string, readonly (readonly string[])[]>>;
  /** Laid over the model's arguments; the model neither sees nor sets them. */
  readonly fixedArguments: JsonObject;
  readonly timeoutMs?: number;
  readonly callsPerMinute?: number;
  readonly callsPerDay?: number;
  readonly callsPerRun?: number;
  /** Limits that stand with an agent: they count its calls alone. */
  readonly ofAgent?: AgentCallLimits;
}

export interface AgentCallLimits {
  readonly agent: string;
  readonly callsPerMinute?: number;
  readonly callsPerDay?: number;
}

export interface NumericLimit {
  readonly min?: number;
  readonly max?: number;
}

/** One level of rules: a tier's, a tenant's, an agent's or a task's. Names may hold `*`. */
export interface ToolRules {
  /** Undefined: every tool. Empty: none. */
  readonly enabled?: readonly string[];
  readonly disabled: readonly string[];
  readonly permissions: readonly { readonly name: string; readonly permission: ToolPermission }[];
  /** Default for tools that no rule grants: `read-only` offers those that change nothing, `deny` none. Undefined: all. */
  readonly otherwise?: 'read-only' | 'deny';
  /** Names that are granted here: those of `enabled`, and those whose permission says `allow` or `ask`. */
  readonly granted: readonly string[];
}

/** How often a tool may be called, and whether a person is asked first. */
export interface CallPolicy {
  /** Its code in the catalogue, whose daily limit counts; undefined for tools of servers and of this process. */
  readonly code?: string;
  readonly needsApproval: boolean;
  readonly callsPerRun?: number;
  readonly callsPerMinute?: number;
  readonly callsPerDay?: number;
  /** Limits that count the calls of this agent alone. */
  readonly ofAgent?: AgentCallLimits;
}
