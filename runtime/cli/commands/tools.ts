import { text } from 'node:stream/consumers';

import type { Runtime } from '../../compose/create-runtime';
import { RuntimeError } from '../../errors/runtime-error';
import { type JsonValue, tryParseJson } from '../../util/json';
import { type Options, readTenant, UsageError } from '../arguments';
import { openToolRuntime } from '../environment';
import { printError, printJson } from '../output';

/** `tools list`, `tools call NAME` and `tools refresh`. */
export async function toolsCommand(words: readonly string[], options: Options): Promise<number> {
  const [, action, name] = words;
  if (action !== 'list' && action !== 'call' && action !== 'refresh') {
    throw new UsageError('tools needs one of: list, call NAME, refresh.');
  }
  const query = { tenantId: readTenant(options, `tools ${action}`), tier: options.tier };
  if (action === 'call' && name === undefined) throw new UsageError('tools call needs the name of a tool.');
  const call = action === 'call' ? { arguments: await readInput(options), meta: readMeta(options) } : undefined;
  const runtime = openToolRuntime();
  try {
    if (call !== undefined) return await callTool(runtime, { ...query, tool: name as string, ...call });
    const { tools } = runtime;
    printJson(await (action === 'list' ? tools.list(query) : tools.refresh({ ...query, server: options.server })));
    return 0;
  } finally {
    await runtime.close();
  }
}

async function callTool(runtime: Runtime, request: Parameters<Runtime['tools']['call']>[0]): Promise<number> {
  const output = await runtime.tools.call(request);
  if (!output.isError) {
    printJson(output.value);
    return 0;
  }
  printError(output.value as unknown as Parameters<typeof printError>[0]);
  return 1;
}

async function readInput({ arguments: given = '{}' }: Options): Promise<JsonValue> {
  return readJson(given === '-' ? await text(process.stdin) : given, 'arguments');
}

/** Who the call is for; the runtime checks the keys. */
function readMeta({ meta }: Options): JsonValue | undefined {
  return meta === undefined ? undefined : readJson(meta, 'meta');
}

function readJson(given: string, what: string): JsonValue {
  const parsed = tryParseJson(given);
  if (!parsed.ok) throw new RuntimeError('INPUT_INVALID', { issues: `${what}: not valid JSON: ${parsed.reason}` });
  return parsed.value;
}
