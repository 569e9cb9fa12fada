import type { ToolCallMessage } from '../contracts/message';
import type { Toolset } from '../contracts/tools/tool';
import { describeError, type ErrorSummary } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { isJsonObject, type JsonObject, tryParseJson } from '../util/json';
import { type Redact, redactNothing } from '../util/redaction/redact';
import { createFiller, type Variables } from '../util/variables/fill';

type ParsedArguments =
  { readonly ok: true; readonly value: JsonObject } | { readonly ok: false; readonly issues: string };

const FENCE = '```';

/** What was read of the calls of a transcript: each is asked for several times, and may be megabytes long. */
const read = new WeakMap<ToolCallMessage, ParsedArguments>();

/** The same for a call, read once. */
export function argumentsOf(call: ToolCallMessage): ParsedArguments {
  const known = read.get(call) ?? parseArguments(call.function.arguments);
  read.set(call, known);
  return known;
}

/** The arguments a model wrote, as an object. Nothing at all counts as `{}`; anything else that is no object is refused. */
export function parseArguments(text: string): ParsedArguments {
  const bare = withoutFence(text.trim());
  if (bare === '') return { ok: true, value: {} };
  const parsed = tryParseJson(bare);
  if (!parsed.ok) return { ok: false, issues: `not valid JSON: ${parsed.reason}` };
  const { value } = parsed;
  if (isJsonObject(value)) return { ok: true, value };
  if (value === null || (Array.isArray(value) && value.length === 0)) return { ok: true, value: {} };
  return { ok: false, issues: 'must be a JSON object' };
}

function withoutFence(text: string): string {
  const isFenced = text.length >= 2 * FENCE.length && text.startsWith(FENCE) && text.endsWith(FENCE);
  if (!isFenced) return text;
  return text.slice(FENCE.length, -FENCE.length).replace(/^json/, '').trim();
}

type ReadArguments =
  | { readonly ok: true; readonly value: JsonObject; readonly warnings?: readonly ErrorSummary[] }
  | { readonly ok: false; readonly issues: string };

interface Reading {
  readonly variables: Variables;
  readonly toolset: Toolset;
  readonly redact?: Redact;
  /** Variables are filled in already. Default false. */
  readonly isFilled?: boolean;
}

/** Fills variables into the arguments of a call, before they are checked: what is checked is what is sent. */
export function readArguments(call: ToolCallMessage, reading: Reading): ReadArguments {
  const { variables, toolset, redact, isFilled = false } = reading;
  const parsed = argumentsOf(call);
  if (!parsed.ok) return { ok: false, issues: redacted(call, parsed.issues, redact) };
  if (isFilled || (variables.size === 0 && !mayName(call, toolset))) return parsed;
  try {
    const filler = createFiller(variables);
    const value = filler.json(parsed.value);
    return { ok: true, value, warnings: warningsOf(call, filler.unknown(), redact) };
  } catch (error) {
    return { ok: false, issues: errorText(error) };
  }
}

/** Reports whether a run without variables has a tool that could have set one. */
function mayName({ function: { arguments: text } }: ToolCallMessage, { definitions, find }: Toolset): boolean {
  return text.includes('{{') && definitions.some(({ name }) => find(name)?.setsVariables === true);
}

function warningsOf(
  { function: { name } }: ToolCallMessage,
  unknown: string,
  redact: Redact = redactNothing,
): readonly ErrorSummary[] | undefined {
  if (unknown === '') return undefined;
  const details = { where: `the arguments of ${redact(name)}`, names: redact(unknown) };
  return [describeError('VARIABLE_UNKNOWN', details)];
}

/** The parser quotes some characters of what it read, so it is given a text without secrets for that. */
function redacted(call: ToolCallMessage, issues: string, redact: Redact = redactNothing): string {
  const text = call.function.arguments;
  if (redact(text) === text) return issues;
  const parsed = parseArguments(redact(text));
  return parsed.ok ? 'not valid JSON' : parsed.issues;
}
