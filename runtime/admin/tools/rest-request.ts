import * as z from 'zod/v4';

import { parseExactly } from '../../util/exact-integer';
import type { JsonObject, JsonValue } from '../../util/json';
import { strictObject } from '../../util/known-keys';
import { objectField } from '../read-input';

/**
 * An HTTP API in the words of a form: the transport `rest` of docs/tools.md, with the address and the path in one URL. `{name}`
 * stands for an argument, as in OpenAPI; so does `{{name}}`, which n8n's panel would take for an expression.
 */
export interface HttpApi {
  /** Default GET. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Default: the arguments that neither URL nor query use. */
  readonly body?: JsonObject;
}

export const requestField = strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
  url: z
    .string()
    .regex(/^https?:\/\/[^/?#\s{}]+([/?][^#\s]*)?$/i, 'must be an http or https URL, its host without an argument')
    .refine(hasEachNameOnce, 'names a parameter of the query twice'),
  query: z.record(z.string(), z.string()).optional(),
  body: objectField.optional(),
});

function hasEachNameOnce(url: string): boolean {
  const names = [...new URLSearchParams(url.split('?')[1]).keys()];
  return new Set(names).size === names.length;
}

interface RestRow {
  readonly transport: 'rest';
  readonly endpoint: string;
  readonly transportConfig: JsonObject;
}

/** Keys of `transportConfig` that a request sets. */
const OWN_KEYS = ['method', 'path', 'query', 'body'];
/** Keys that every transport has. */
const COMMON_KEYS = ['repeatable', 'read_only', 'store_as'];

/** Keeps the settings that a new request does not set; of another transport, only the keys that every transport has. */
export function keptConfig(transport: string | null, config: JsonObject): JsonObject {
  const isKept = (key: string): boolean => (transport === 'rest' ? !OWN_KEYS.includes(key) : COMMON_KEYS.includes(key));
  return Object.fromEntries(Object.entries(config).filter(([key]) => isKept(key)));
}

/** Converts the request to columns of the row, merged over `config`. `names` limits the placeholders of the body; default: all. */
export function toRestRow(
  { method, url, query, body }: z.output<typeof requestField>,
  { config = {}, names }: { readonly config?: JsonObject; readonly names?: readonly string[] } = {},
): RestRow {
  const [, endpoint = '', path, written = ''] = /^([a-z]+:\/\/[^/?]+)([^?]*)(?:\?(.*))?$/i.exec(url) ?? [];
  // Before it is decoded: braces that are written as %7B are none.
  const ofUrl = Object.fromEntries(new URLSearchParams(withPlaceholders(written)));
  const all = { ...ofUrl, ...withPlaceholders(query ?? {}) };
  const request = {
    method,
    path: path ? withPlaceholders(path) : undefined,
    query: Object.keys(all).length === 0 ? undefined : all,
    // Texts such as GraphQL have braces of their own.
    body: body && withPlaceholders(body, names),
  };
  const given = Object.entries(request).filter(
    (entry): entry is [string, string | JsonObject] => entry[1] !== undefined,
  );
  return { transport: 'rest', endpoint, transportConfig: { ...config, ...Object.fromEntries(given) } };
}

/** Replaces each `{name}` in the texts of a value with `{{name}}`. */
function withPlaceholders<T extends JsonValue>(value: T, names?: readonly string[]): T {
  const replace = (text: string): string =>
    text.replace(/(?<!\{)\{([\w.-]+)\}(?!\})/g, (braces, name: string) =>
      names === undefined || names.includes(name) ? `{{${name}}}` : braces,
    );
  return parseExactly(
    JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'string' ? replace(inner) : inner)),
  ) as T;
}
