import type { ConnectedTool } from '../contracts/connected';
import type { Tool, ToolContext } from '../contracts/tools/tool';
import type { ToolOutput } from '../contracts/tools/tool-shapes';
import { errorText } from '../errors/to-runtime-error';
import { toolFailure } from '../errors/tool-failure';
import { exactIntegersIn } from '../util/exact-integer';
import type { JsonObject } from '../util/json';
import { createRedactor, redactBoth } from '../util/redaction/redact';
import { clipText } from '../util/text/clip-text';
import type { ExecuteOptions } from './execute-tool';
import { objectSchema } from './schemas/object-schema';
import { compileInputSchema } from './schemas/validate-input';
import { readOutput, shorten } from './tool-output';

/** A tool that a host has connected to one run, as a tool like all others. Throws an Error for a schema that cannot be used. */
export function buildConnectedTool(connected: ConnectedTool, name: string, options: ExecuteOptions): Tool {
  const { definition, isRepeatable, isReadOnly } = connected;
  const inputSchema = objectSchema(definition.inputSchema, 'schema');
  return {
    definition: { ...definition, name, inputSchema },
    parseInput: compileInputSchema(inputSchema),
    isRepeatable,
    isReadOnly,
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
  const [long] = exactIntegersIn(input);
  if (long !== undefined) {
    const issues = `the integer ${long.toString()} is beyond 2^53, which this tool cannot take; write it as text`;
    return toolFailure('TOOL_INVALID_ARGS', { tool: name, issues: redact(issues) });
  }
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
