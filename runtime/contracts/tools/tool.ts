import type { LookupFunction } from 'node:net';

import type { ErrorCode } from '../../errors/codes';
import type { JsonObject, JsonValue } from '../../util/json';
import type { Redact } from '../../util/redaction/redact';
import type { CallPolicy } from './permission';
import type { ToolRun } from './tool-run';
import type { ToolDefinition, ToolOutput } from './tool-shapes';

/** Trusted facts that go beside a tool's arguments; the model neither sees nor sets them. */
export interface ToolMeta {
  readonly tenant_id: string;
  readonly task_id: string;
  readonly trace_id?: string;
  readonly client_id?: string;
  readonly dialog_id?: string;
  readonly user_id?: string;
  readonly session_id?: string;
  readonly agent?: string;
}

export interface ToolContext {
  readonly toolCallId: string;
  /** The run that the call is made for, and its account. */
  readonly run: ToolRun;
  readonly meta: ToolMeta;
  readonly signal: AbortSignal;
  /** The run's variables, which tools may set. */
  readonly variables: Map<string, JsonValue>;
  /** Time zone of the tenant, not validated. */
  readonly timeZone?: string;
  /** Blanks every secret that the run knows, beside the tool's own. */
  readonly redact?: Redact;
  /** The host's own rules for outgoing requests, such as n8n's. Asked beside ours, for addresses that a model wrote. */
  readonly egress?: EgressFilter;
}

/** What a host such as n8n has to say on outgoing requests; the shape of n8n's NodeEgressFilter. */
export interface EgressFilter {
  /** Resolves names; a literal address is judged as it is. */
  readonly validateUrl: (url: string | URL) => Promise<{ readonly ok: boolean; readonly error?: Error }>;
  /** A `lookup` for sockets that fails for addresses that are not allowed. */
  readonly createSecureLookup: () => LookupFunction;
}

export type ParsedInput =
  | { readonly ok: true; readonly value: JsonObject }
  /** `code` says why, where it is not the schema: TOOL_PERMISSION_DENIED. */
  | { readonly ok: false; readonly issues: string; readonly code?: ErrorCode };

/**
 * Says for whom something is checked: tenants are served in turn, and nothing that waits is done for a run that has
 * ended.
 */
export interface CheckedFor {
  readonly tenantId: string;
  readonly signal?: AbortSignal;
}

export interface Tool {
  readonly definition: ToolDefinition;
  /** Checks the arguments that the model wrote, elsewhere where that takes long. Must neither throw nor reject. */
  readonly parseInput: (input: JsonObject, checkedFor?: CheckedFor) => ParsedInput | Promise<ParsedInput>;
  /**
   * Whether a call may be made again whose outcome is unknown, since it changes nothing or changes it only once. Undefined:
   * it may not. Must not throw.
   */
  readonly isRepeatable?: boolean | ((input: JsonObject) => boolean);
  /** It changes nothing anywhere, whatever its arguments. Undefined: it may. */
  readonly isReadOnly?: boolean;
  /** True for the tool that loads skills, whose outputs have `nextTools`. Set by the runtime alone. */
  readonly loadsSkills?: boolean;
  /** Steers the run: its calls count neither as repetitions nor towards the task's limits on tool calls. Set by the runtime alone. */
  readonly isUncounted?: boolean;
  /** Its kind and its own name, whatever name the model calls. Set by the runtime alone. */
  readonly origin?: string;
  /** True for a tool that can set variables of the run. */
  readonly setsVariables?: boolean;
  /** What the rules say on its calls; undefined where there are none. */
  readonly policy?: CallPolicy;
  /** Should not reject: failure is an output with isError. A rejection becomes one. */
  readonly execute: (input: JsonObject, context: ToolContext) => Promise<ToolOutput>;
}

/** The tools of one run. Names are unique. */
export interface Toolset {
  readonly definitions: readonly ToolDefinition[];
  readonly find: (name: string) => Tool | undefined;
}

/** A tool, and the tiers that may use it. */
export interface TenantTool {
  readonly tool: Tool;
  readonly allowedTiers?: readonly string[];
  /** Another name for it in allow-lists: `server.tool`. */
  readonly alias?: string;
  /** The name that it has as long as no other tool comes with the same one: rules that narrow hold for it too. */
  readonly formerName?: string;
  /** How it is reached: the row's transport, `mcp`, `code` for tools of this process, or `connected`. */
  readonly type: string;
  /** Its code in the catalogue. */
  readonly code?: string;
  /**
   * It comes with what was granted otherwise, the run's skills, its mode or the agent's sub-agents: grants and allow-lists do not decide
   * on it, but those of a task on the latter. Deny-lists and permissions do.
   */
  readonly comesWith?: 'skills' | 'mode' | 'sub-agents';
  /** Its kind and its own name: tells it from a tool of another kind that takes the name which the model calls. */
  readonly origin?: string;
  /** Rules of its row, as they stand in the tenant's custom_config. */
  readonly permission?: unknown;
}

/**
 * Tools of a program that depend on the tenant.
 *
 * @example
 * const registry: TenantToolSource = { name: 'registry', toolsOf: (tenantId) => toolsByTenant.get(tenantId) ?? [] };
 */
export interface TenantToolSource {
  /** Named in the error TOOL_SOURCE_FAILED. */
  readonly name: string;
  /** Called for each run. The same array, as long as the tools are the same, keeps a run from building them again. */
  readonly toolsOf: (tenantId: string, signal: AbortSignal) => readonly Tool[] | Promise<readonly Tool[]>;
}
