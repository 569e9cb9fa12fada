import type { ConnectedTool } from '../contracts/connected';
import type { Tool, ToolContext, ToolOutput } from '../contracts/tool';
import { describeError, type ErrorSummary } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { toolFailure } from '../errors/tool-failure';
import { clipText } from '../util/clip-text';
import type { JsonObject } from '../util/json';
import { createRedactor, redactBoth } from '../util/redact';
import { createTurns } from '../util/turns';
import type { BuiltTools, TenantTool } from './build-tools';
import type { ExecuteOptions } from './execute-tool';
import { objectSchema } from './object-schema';
import { offeredNames, plainName } from './offered-names';
import { readOutput, shorten } from './tool-output';
import { compileInputSchema } from './validate-input';

/** Turns the tools that a host has connected to one run into tools like all others, under names that are not in `taken`. */
export type BuildConnectedTools = (tools: readonly ConnectedTool[], taken: ReadonlySet<string>) => Promise<BuiltTools>;

/** One whose schema cannot be used is left out with a warning. */
export function createConnectedToolBuilder(options: ExecuteOptions): BuildConnectedTools {
  return async (connected, taken) => {
    const tools: TenantTool[] = [];
    const warnings: ErrorSummary[] = [];
    const names = namesOf(connected, taken);
    const turn = createTurns();
    for (const [index, given] of connected.entries()) {
      await turn();
      const formerName = plainName(given.definition.name);
      try {
        tools.push({ tool: toTool(given, names[index] as string, options), formerName, type: 'connected' });
      } catch (error) {
        const details = { tool: given.definition.name, reason: errorText(error) };
        warnings.push(describeError('CONNECTED_TOOL_UNUSABLE', details));
      }
    }
    return { tools, warnings };
  };
}

function namesOf(connected: readonly ConnectedTool[], taken: ReadonlySet<string>): readonly string[] {
  const seen = new Map<string, number>();
  const wanted = connected.map(({ definition: { name }, source = '' }) => {
    const key = JSON.stringify([source, name]);
    const place = seen.get(key) ?? 0;
    seen.set(key, place + 1);
    return { name, identity: ['connected', source, name, place] };
  });
  return offeredNames(wanted, taken);
}

function toTool(connected: ConnectedTool, name: string, options: ExecuteOptions): Tool {
  const { definition, isRepeatable } = connected;
  const inputSchema = objectSchema(definition.inputSchema, 'schema');
  return {
    definition: { ...definition, name, inputSchema },
    parseInput: compileInputSchema(inputSchema),
    isRepeatable,
    execute: (input, context) => execute({ connected, name, options }, input, context),
  };
}

/** Has no time-out of its own: a sub-workflow may take its time, and the run's deadline ends it. Never rejects. */
async function execute(
  {
    connected,
    name,
    options,
  }: { readonly connected: ConnectedTool; readonly name: string; readonly options: ExecuteOptions },
  input: JsonObject,
  { signal, redact: ofRun }: ToolContext,
): Promise<ToolOutput> {
  const redact = redactBoth(ofRun, createRedactor(options.secrets));
  try {
    const answer = clipText(toText(await connected.call(input, signal)), options.maxOutputBytes);
    return readOutput({ ...answer, isPlainText: true }, { tool: name, redact, limitBytes: options.maxOutputBytes });
  } catch (error) {
    if (signal.aborted) return toolFailure('TOOL_CANCELLED', { tool: name });
    return toolFailure('TOOL_FAILED', { tool: name, reason: shorten(redact(errorText(error))) });
  }
}

/** Throws an Error for what is no JSON. */
function toText(answer: unknown): string {
  if (typeof answer === 'string') return answer;
  const written: unknown = JSON.stringify(answer ?? null);
  return typeof written === 'string' ? written : 'null';
}
