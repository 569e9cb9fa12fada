import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../util/json';
import { readReference } from './references';

/** A secret that stands in a row as plain text. */
export interface PlainSecret {
  /** The way to it within the JSON; empty where the column is nothing but the secret. */
  readonly path: readonly string[];
  readonly value: string;
}

/** A JSON column, taken out of the texts that it may be wrapped in. */
interface UnwrappedJson {
  readonly json: string;
  readonly value: JsonObject;
  /** How many texts it was wrapped in, as a TEXT column of JSON within JSON comes. */
  readonly wraps: number;
}

const SENSITIVE_HEADER = /authorization|^x-api-key$|^api-key$|cookie|token|secret|key|password/i;
const AUTH_KEYS = ['token', 'client_secret', 'private_key', 'assertion'];

/** Plain text in a column that is a secret as a whole. */
export function plainText(content: string): readonly PlainSecret[] {
  return secretsAt([[[], content]]);
}

/** Plain text in a tenant's custom_config. */
export function plainInCustomConfig(config: JsonObject): readonly PlainSecret[] {
  const headers = entriesOf(config.headers).filter(([name]) => SENSITIVE_HEADER.test(name));
  return secretsAt([
    [['auth_header'], config.auth_header],
    ...headers.map(([name, value]) => [['headers', name], value] as const),
  ]);
}

/** Plain text in the auth of an MCP server. */
export function plainInAuth(auth: JsonObject): readonly PlainSecret[] {
  return secretsAt([
    ...AUTH_KEYS.map((key) => [[key], auth[key]] as const),
    ...entriesOf(auth.headers).map(([name, value]) => [['headers', name], value] as const),
    [['idp', 'id_token'], isJsonObject(auth.idp) ? auth.idp.id_token : undefined],
  ]);
}

/** The object in a JSON text, or in a JSON text within it; undefined where there is none. */
export function unwrapJson(content: string): UnwrappedJson | undefined {
  let json = content;
  for (let wraps = 0; ; wraps++) {
    const parsed = tryParseJson(json);
    if (!parsed.ok) return undefined;
    if (isJsonObject(parsed.value)) return { json, value: parsed.value, wraps };
    if (typeof parsed.value !== 'string') return undefined;
    json = parsed.value;
  }
}

/** The same text within as many texts as it came in. */
export function wrapJson(json: string, wraps: number): string {
  return wraps === 0 ? json : wrapJson(JSON.stringify(json), wraps - 1);
}

function entriesOf(value: JsonValue | undefined): readonly [string, JsonValue][] {
  return isJsonObject(value) ? Object.entries(value) : [];
}

type Place = readonly [path: readonly string[], value: JsonValue | undefined];

/** Those places that hold a secret: not what names one already, and nothing empty. */
function secretsAt(places: readonly Place[]): readonly PlainSecret[] {
  return places.flatMap(([path, value]) =>
    typeof value === 'string' && value.trim() !== '' && readReference(value) === undefined ? [{ path, value }] : [],
  );
}
