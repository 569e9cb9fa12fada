import type { ToolContext } from '../contracts/tools/tool';
import type { ToolOutput } from '../contracts/tools/tool-shapes';
import type { PreparedTool, ToolSettings, TransportReply } from '../contracts/tools/tool-transport';
import { describeError, type ErrorDetails, isRuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { toolFailure } from '../errors/tool-failure';
import { startDeadline } from '../util/abort';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { createRedactor, type Redact, redactBoth } from '../util/redaction/redact';
import { storeVariable } from '../util/variables/store';
import { readOutput } from './tool-output';

/** However often a server says that it is still at work. The run's own deadline may end the call sooner. */
const MAX_CALL_MS = 3_600_000;

export interface ExecuteOptions {
  readonly maxOutputBytes: number;
  /** Blanked in everything that a tool's server sends back, beside the tool's own secrets. */
  readonly secrets: readonly string[];
}

type ExecutedTool = PreparedTool & { readonly options: ExecuteOptions };

const redactors = new WeakMap<ToolSettings, Redact>();

/** Made at the first call of a tool, and kept as long as the tool is. */
function ownRedactor({ settings, options }: ExecutedTool): Redact {
  const known = redactors.get(settings);
  if (known !== undefined) return known;
  const { secrets, authHeader, headers } = settings;
  const made = createRedactor([...options.secrets, ...secrets, authHeader, ...Object.values(headers)]);
  redactors.set(settings, made);
  return made;
}

/** Calls a tool's server within the tool's time-out. Never rejects: failure is an output with isError. */
export async function executeTool(tool: ExecutedTool, input: JsonObject, context: ToolContext): Promise<ToolOutput> {
  const { settings, options } = tool;
  const { name, timeoutMs } = settings;
  const redact = redactBoth(context.redact, ownRedactor(tool));
  const deadline = startDeadline(timeoutMs, context.signal);
  try {
    const reply = await tool.call({
      input,
      meta: context.meta,
      signal: deadline.signal,
      variables: context.variables,
      timeZone: context.timeZone,
      egress: context.egress,
      maxOutputBytes: options.maxOutputBytes,
      onProgress: () => deadline.extend(MAX_CALL_MS),
    });
    const redactReply =
      reply.secrets === undefined ? redact : redactBoth(redact, createRedactor(new Set(reply.secrets)));
    const output = readOutput(reply, { tool: name, redact: redactReply, limitBytes: options.maxOutputBytes });
    return withStored(tool, output, { context, kept: reply.kept, redact: redactReply });
  } catch (error) {
    if (deadline.cause() === 'timeout') return toolFailure('TOOL_TIMEOUT', { tool: name, timeoutMs });
    if (deadline.cause() === 'cancelled') return toolFailure('TOOL_CANCELLED', { tool: name });
    if (isRuntimeError(error)) return toolFailure(error.code, redactedDetails(error.details, redact));
    return toolFailure('TOOL_UNREACHABLE', { tool: name, reason: redact(errorText(error)) });
  } finally {
    deadline.dispose();
  }
}

interface Storing {
  readonly context: ToolContext;
  readonly kept: TransportReply['kept'];
  readonly redact: Redact;
}

/**
 * Stores a result for the arguments of later calls. If it cannot be stored, the variable is removed, so that no later call
 * uses the previous result, and the model is told. A failed call changes nothing.
 */
function withStored(
  { settings: { name: tool, storeAs } }: ExecutedTool,
  output: ToolOutput,
  { context: { variables }, kept, redact }: Storing,
): ToolOutput {
  if (output.isError) return output;
  const value = keptValue(output, kept && redact(kept.text));
  const names = [kept?.as, storeAs].filter((name) => name !== undefined);
  const refused = names.flatMap((name) => {
    const reason = value === undefined ? 'it was cut off' : storeVariable(variables, name, value);
    if (reason === undefined) return [];
    variables.delete(name);
    return describeError('VARIABLE_NOT_STORED', { tool, name: redact(name), reason });
  });
  const [first] = refused;
  if (first === undefined) return output;
  const { code, message } = first;
  const told = { warning: { code, message }, result: output.value };
  return { ...output, value: told, warnings: [...(output.warnings ?? []), ...refused] };
}

/** Returns the answer without our warning around it, or `text`; undefined if it was cut off. */
function keptValue({ code, value }: ToolOutput, text: string | undefined): JsonValue | undefined {
  const isPart = code === 'TOOL_OUTPUT_TRUNCATED' || (isJsonObject(value) && value.truncated === true);
  if (isPart) return undefined;
  return text ?? (code !== undefined && isJsonObject(value) ? value.text : value);
}

function redactedDetails(details: ErrorDetails, redact: Redact): ErrorDetails {
  const clean = Object.entries(details).map(([key, value]) => [key, typeof value === 'string' ? redact(value) : value]);
  return Object.fromEntries(clean) as ErrorDetails;
}
