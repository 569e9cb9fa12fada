import type { Connected } from './connected';
import type { Log, OnEvent } from './event';
import type { McpServerInput } from './tools/mcp';
import type { EgressFilter } from './tools/tool';

/** What the host of a run, such as n8n, gives beside the task. */
export interface HostOptions {
  readonly onEvent?: OnEvent;
  /** Takes a line for each step, each tool call and the end of the run. Default: that of the runtime. */
  readonly logger?: Log;
  /** Asks models for their replies piece by piece, for `text-delta` and `reasoning-delta`. Default false. */
  readonly stream?: boolean;
  /** Runs even if the task was done before: a manual test in the editor. Default false. */
  readonly fresh?: boolean;
  /** Pauses the run after one model call with its tool calls, as `runtime.turn` does: the same task continues it. Default false. */
  readonly pauses?: boolean;
  /** MCP servers beside those of the tenant. Their addresses and credentials are the operator's. */
  readonly mcpServers?: readonly McpServerInput[];
  /** The host's own rules for outgoing requests, asked beside ours for addresses that a model wrote. */
  readonly egress?: EgressFilter;
  /** Model, memory, tools and format that the host has wired to this run. */
  readonly connected?: Connected;
}

export interface RunOptions extends HostOptions {
  /** Cancels the run. */
  readonly signal?: AbortSignal;
}
