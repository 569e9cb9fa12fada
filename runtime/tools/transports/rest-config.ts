import * as z from 'zod/v4';

import { isDeeperThan, type JsonObject, type JsonValue, MAX_JSON_DEPTH } from '../../util/json';
import { strictObject } from '../../util/known-keys';
import { parseSetting } from '../../util/parse-setting';
import { headerIssue } from './header-fields';
import { placeholdersOf } from './template';

/** How a tool of the transport `rest` is called. */
export interface RestConfig {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The field of the server for an argument. */
  readonly rename: Readonly<Record<string, string>>;
  /** Undefined: all arguments go. */
  readonly body?: JsonValue;
  readonly success?: { readonly path: string; readonly equals: JsonValue };
  readonly resultPath?: string;
}

const texts = z.record(z.string(), z.string()).default({});
const json = z.unknown().refine((value) => !isDeeperThan(value, MAX_JSON_DEPTH), 'is nested too deeply');

const schema = strictObject({
  method: z
    .string()
    .toUpperCase()
    .pipe(z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']))
    .default('POST'),
  path: z
    .string()
    .refine(isPlainPath, 'must stay below mcp_endpoint: no scheme, host, "..", "\\", "?" or "#"')
    .default(''),
  query: texts,
  headers: texts,
  rename: texts,
  body: json,
  success: strictObject({ path: z.string().min(1), equals: json.default(true) }).optional(),
  result_path: z.string().min(1).optional(),
  repeatable: z.boolean().optional(),
  read_only: z.boolean().optional(),
  store_as: z.string().nullish(),
});

/** Reads transport_config. Throws an Error that names the field, never its value, which may be a secret. */
export function readRestConfig(config: JsonObject): RestConfig {
  const parsed = parseSetting(schema, config, 'transport_config');
  const {
    body,
    success,
    result_path: resultPath,
    headers,
    repeatable: _repeatable,
    read_only: _readOnly,
    store_as: _storeAs,
    ...rest
  } = parsed;
  checkHeaders(headers);
  return {
    ...rest,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    body: (body as JsonValue | undefined) ?? undefined,
    success: success as RestConfig['success'],
    resultPath,
  };
}

function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    const issue = placeholdersOf(value).length > 0 ? 'cannot hold a placeholder' : headerIssue(name, value);
    if (issue !== undefined) throw new Error(`transport_config.headers.${name} ${issue}`);
  }
}

function isPlainPath(path: string): boolean {
  return !/[\\?#]|^\/\/|^[a-z][a-z0-9+.-]*:/i.test(path) && !hasDotSegment(path);
}

/** True when a part of the path leads upwards, also in the spellings that some servers decode. */
export function hasDotSegment(path: string): boolean {
  const decoded = path.replace(/%2e/gi, '.').replace(/%2f/gi, '/').replace(/%5c/gi, '\\');
  return decoded.split(/[/\\]/).some((segment) => segment === '.' || segment === '..');
}
