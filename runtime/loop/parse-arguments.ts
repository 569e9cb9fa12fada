import { isJsonObject, tryParseJson, type JsonObject } from '../util/json';

type ParsedArguments =
  { readonly ok: true; readonly value: JsonObject } | { readonly ok: false; readonly issues: string };

const FENCE = /^```(?:json)?\s*([\s\S]*?)\s*```$/;

/** The arguments a model wrote, as an object. Nothing at all counts as `{}`; anything else that is no object is refused. */
export function parseArguments(text: string): ParsedArguments {
  const bare = text.trim().replace(FENCE, '$1');
  if (bare === '') return { ok: true, value: {} };
  const parsed = tryParseJson(bare);
  if (!parsed.ok) return { ok: false, issues: `not valid JSON: ${parsed.reason}` };
  const { value } = parsed;
  if (isJsonObject(value)) return { ok: true, value };
  if (value === null || (Array.isArray(value) && value.length === 0)) return { ok: true, value: {} };
  return { ok: false, issues: 'must be a JSON object' };
}
