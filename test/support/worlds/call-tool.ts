import type { ToolRow } from '../../../runtime';
import { createToolTransports } from '../../../runtime/compose/tool-sources';
import type { EgressFilter, ToolContext } from '../../../runtime/contracts/tools/tool';
import type { ToolOutput } from '../../../runtime/contracts/tools/tool-shapes';
import type { ErrorSummary } from '../../../runtime/errors/runtime-error';
import { createRedisConnection } from '../../../runtime/storage/redis/connection';
import { createToolBuilder } from '../../../runtime/tools/build-tools';
import type { JsonObject, JsonValue } from '../../../runtime/util/json';
import { A_RUN } from '../values/a-run';
import { TENANT_ID, toolRow } from '../values/memory-stores';

export interface CallToolOptions {
  readonly redis?: { readonly url: string; readonly rejectUnauthorized: boolean };
  readonly egress?: EgressFilter;
  readonly variables?: Map<string, JsonValue>;
  readonly tenantId?: string;
  readonly maxOutputBytes?: number;
  readonly signal?: AbortSignal;
}

/** What became of a row: the tool's output as JSON text and parts, or why it is not offered. */
export interface CalledTool {
  readonly output: ToolOutput | undefined;
  /** The output's value, to look into. */
  readonly value: JsonObject;
  readonly warnings: readonly ErrorSummary[];
  /** What a model is shown of the tool. */
  readonly definition: { readonly description: string; readonly inputSchema: JsonObject } | undefined;
}

const context = (options: CallToolOptions): ToolContext => ({
  toolCallId: 'call-1',
  run: A_RUN,
  meta: { tenant_id: options.tenantId ?? TENANT_ID, task_id: 'task-1' },
  signal: options.signal ?? new AbortController().signal,
  variables: options.variables ?? new Map<string, JsonValue>(),
  egress: options.egress,
});

/** Builds the tool of a row with the real transports and calls it once, as the loop does: arguments are checked first. */
export async function callTool(
  row: Partial<ToolRow>,
  input: JsonObject = {},
  options: CallToolOptions = {},
): Promise<CalledTool> {
  const redis = options.redis && createRedisConnection(options.redis);
  const { transports, close } = createToolTransports({}, redis);
  const maxOutputBytes = options.maxOutputBytes ?? 64 * 1024;
  const build = createToolBuilder({ transports, defaultTimeoutMs: 100_000, maxOutputBytes, secrets: [] });
  const { tools, warnings } = await build([toolRow({ code: 'a_tool', ...row })]);
  const [built] = tools;
  try {
    if (built === undefined) return { output: undefined, value: {}, warnings, definition: undefined };
    const parsed = await built.tool.parseInput(input);
    if (!parsed.ok) throw new Error(`the arguments do not fit the schema: ${parsed.issues}`);
    const output = await built.tool.execute(input, context(options));
    return { output, value: output.value as JsonObject, warnings, definition: built.tool.definition };
  } finally {
    await Promise.all([close(), redis?.close()]);
  }
}
