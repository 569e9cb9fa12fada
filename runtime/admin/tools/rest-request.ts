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
    .regex(/^https?:\/\/[^/?#\s{}]+([/?][^#\s]*)?$/i, 'must be an http or https URL, its host without an argument'),
  query: z.record(z.string(), z.string()).optional(),
  body: objectField.optional(),
});

interface RestRow {
  readonly transport: 'rest';
  readonly endpoint: string;
  readonly transportConfig: JsonObject;
}

/** The request as a row has it, with what else `transportConfig` says. */
export function toRestRow(
  { method, url, query, body }: z.output<typeof requestField>,
  transportConfig: JsonObject = {},
): RestRow {
  const [, endpoint = '', path = '', written] = /^([a-z]+:\/\/[^/?]+)([^?]*)(?:\?(.*))?$/i.exec(url) ?? [];
  const all = withPlaceholders({ ...Object.fromEntries(new URLSearchParams(written)), ...query });
  return {
    transport: 'rest',
    endpoint,
    transportConfig: {
      ...transportConfig,
      method,
      ...(path === '' ? {} : { path: withPlaceholders(path) }),
      ...(Object.keys(all).length === 0 ? {} : { query: all }),
      ...(body === undefined ? {} : { body: withPlaceholders(body) }),
    },
  };
}

/** The value with `{{name}}` for each `{name}` in its texts. */
function withPlaceholders<T extends JsonValue>(value: T): T {
  return parseExactly(
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'string' ? inner.replace(/(?<!\{)\{([\w.-]+)\}(?!\})/g, '{{$1}}') : inner,
    ),
  ) as T;
}
