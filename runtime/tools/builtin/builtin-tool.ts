import type { Dispatcher } from 'undici';
import type * as z from 'zod/v4';

import type { KeyReader } from '../../contracts/tools/key-reader';
import type { SqlReader } from '../../contracts/tools/sql-reader';
import type { Tool } from '../../contracts/tools/tool';
import type { ToolSettings, TransportCall, TransportReply } from '../../contracts/tools/tool-transport';
import type { JsonObject } from '../../util/json';

/** What built-in tools work with. */
export interface BuiltinPorts {
  /** Sends requests to servers that a row names. Addresses from a model go through web/request-web.ts instead. */
  readonly dispatcher: Dispatcher;
  /** Undefined where no Redis is configured. */
  readonly keys?: KeyReader;
  /** Undefined where no database role for queries is configured. */
  readonly sql?: SqlPort;
}

export interface SqlPort {
  readonly reader: SqlReader;
  /** The most rows of an answer, where the tool's row says nothing. */
  readonly maxRows: number;
}

/** A tool that this process carries out itself, for the tenants whose rows say so. */
export interface BuiltinTool {
  /** Used when the row has none. */
  readonly description: string;
  /** Used when the row has none. */
  readonly inputSchema: JsonObject;
  /** A call whose outcome is unknown may be made again. */
  readonly isRepeatable: Tool['isRepeatable'];
  readonly setsVariables?: boolean;
  /** What its transport_config may hold. */
  readonly config: z.ZodType;
  /** Reads the row once. Throws an Error whose message says why the tool cannot be offered. */
  readonly prepare: (
    settings: ToolSettings,
    ports: BuiltinPorts,
  ) => (call: TransportCall) => TransportReply | Promise<TransportReply>;
}
