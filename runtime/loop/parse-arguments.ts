import type { ToolCallMessage } from '../contracts/message';
import { isJsonObject, type JsonObject, tryParseJson } from '../util/json';

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
