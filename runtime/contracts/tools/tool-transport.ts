import type { ErrorCode } from '../../errors/codes';
import type { JsonObject } from '../../util/json';
import type { ToolRow } from '../tenant';
import type { McpServer } from './mcp';
import type { Tool, ToolContext } from './tool';

/**
 * The tool's row with the tenant's own settings laid over it. Private: the model sees name, description and schema
 * only.
 */
export interface ToolSettings {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly endpoint: string;
  /** The whole value of the Authorization header. */
  readonly authHeader?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The tool's name on its MCP server. */
  readonly mcpTool: string;
  /** The row's transport_config with the tenant's own laid over it, for the transports rest, workflow and builtin. */
  readonly config: JsonObject;
  /** Hosts that addresses from a model may name although they are not public. */
  readonly allowedHosts: readonly string[];
  /** The secrets that stand in the fields above, for redaction. */
  readonly secrets: readonly string[];
  /** The server of a discovered tool; rows of the catalogue name theirs by `endpoint`. */
  readonly server?: McpServer;
  /** A call whose outcome is unknown may be made again, as the row or the server says. */
  readonly isRepeatable: boolean;
  /** It changes nothing, as the row or the server says; undefined where neither says anything. */
  readonly isReadOnly?: boolean;
  /** The variable of the run that keeps its last result. */
  readonly storeAs?: string;
}

export interface TransportCall extends Pick<ToolContext, 'meta' | 'variables' | 'egress' | 'timeZone'> {
  readonly input: JsonObject;
  /** Aborts on cancel and at the tool's own time-out. */
  readonly signal: AbortSignal;
  readonly maxOutputBytes: number;
  /** The server is still working: restarts the tool's time-out, not the run's deadline. */
  readonly onProgress: () => void;
}

/** The server's answer as text, not yet redacted. */
export interface TransportReply {
  readonly text: string;
  /** True when the text was cut at maxOutputBytes. */
  readonly isCut: boolean;
  /** True where plain text is a proper answer, as on MCP; else text that is not JSON is marked. */
  readonly isPlainText?: boolean;
  /** Blanked in the answer, beside what the settings hold: credentials that only the connection knows. */
  readonly secrets?: readonly string[];
  /** Set when the server says that the call failed; `status` is its HTTP status, `when` says when to try again. */
  readonly failure?: {
    readonly code: 'TOOL_HTTP_ERROR' | 'TOOL_FAILED' | 'TOOL_BUSY';
    readonly status?: number;
    readonly when?: string;
  };
  /** Text for `storeAs` in place of the answer, and a variable that the model chose for it. */
  readonly kept?: { readonly text: string; readonly as?: string };
  /** Told to the model beside the text of an answer that is no failure. */
  readonly warning?: ErrorCode;
}

/** One way to reach a tool. Rejects when the server cannot be reached or the signal aborts. */
export interface ToolTransport {
  readonly call: (settings: ToolSettings, call: TransportCall) => Promise<TransportReply>;
  readonly close: () => Promise<void>;
}

/** A tool whose row was read for its transport. */
export interface PreparedTool {
  /** The settings with what the row left open filled in. */
  readonly settings: ToolSettings;
  /** What the transport knows about that, where the row says nothing. */
  readonly isRepeatable?: Tool['isRepeatable'];
  readonly isReadOnly?: boolean;
  readonly setsVariables?: boolean;
  readonly call: (call: TransportCall) => TransportReply | Promise<TransportReply>;
}

/** A transport that reads `config` once for each tool, so that a row that it cannot use is not offered. */
export interface ConfiguredTransport {
  /** Throws an Error whose message says what in the row cannot be used. */
  readonly prepare: (settings: ToolSettings, row: ToolRow) => PreparedTool;
  readonly close: () => Promise<void>;
}
