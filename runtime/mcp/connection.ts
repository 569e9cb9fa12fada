import type { McpServer } from '../contracts/tools/mcp';
import type { JsonObject } from '../util/json';
import type { McpToolResult } from './content';
import type { Fetch } from './http-fetch';
import type { BrowserLogin, OAuthStateStore } from './oauth/oauth-provider';

/** Whose connection to which server. */
export interface McpTarget {
  readonly tenantId: string;
  readonly server: McpServer;
}

/** One live connection to a server, of whatever generation. */
export interface McpConnection {
  readonly protocolVersion: string;
  /** Every page of the list. `ttlMs` is how long it holds, where the server says so. */
  readonly listTools: (signal: AbortSignal) => Promise<McpToolList>;
  /** Rejects with the signal's reason, a ProtocolError of the server, or an error of the connection. */
  readonly callTool: (request: McpCallRequest) => Promise<McpToolResult>;
  readonly ping: (signal: AbortSignal) => Promise<void>;
  /** What its requests carry and no answer may show. */
  readonly secrets: () => readonly string[];
  readonly close: () => Promise<void>;
}

export interface McpToolList {
  readonly tools: readonly ListedTool[];
  readonly ttlMs?: number;
}

/** A tool as it came over the wire. */
export interface ListedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly annotations?: { readonly readOnlyHint?: boolean; readonly idempotentHint?: boolean };
  /** Came in a form that cannot be used. */
  readonly isFaulty?: true;
}

export interface McpCallRequest {
  readonly name: string;
  readonly arguments: JsonObject;
  /** The tool's schema, which may name arguments that go into HTTP headers too. */
  readonly inputSchema: JsonObject;
  readonly context: JsonObject;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

export interface ConnectRequest {
  readonly server: McpServer;
  readonly fetch: Fetch;
  readonly oauthStore: OAuthStateStore;
  /** Asked for another bearer token when the server refuses the one it has. */
  readonly renewToken?: () => Promise<string | undefined>;
  /** Opens a browser where a login is needed; without it, that is an error. */
  readonly login?: BrowserLogin;
  /** The command lines that may be started, word for word. Empty: none. */
  readonly stdioCommands: readonly (readonly string[])[];
  readonly onClose: () => void;
  readonly onToolsChanged: () => void;
  readonly signal: AbortSignal;
}
