import { RuntimeError } from '../../errors/runtime-error';
import type { JsonObject, JsonValue } from '../../util/json';
import { hasDotSegment, type RestConfig } from './rest-config';
import { argumentText, fillJson, fillText, placeholdersOf } from './template';

/** Where a call goes and what it carries. */
interface RestRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
}

interface RestTool {
  readonly name: string;
  readonly endpoint: string;
  readonly config: RestConfig;
}

const WITHOUT_BODY: readonly string[] = ['GET', 'DELETE'];

/** The request for one call. Throws TOOL_INVALID_ARGS, which names arguments but never their values. */
export function buildRestRequest({ name: tool, endpoint, config }: RestTool, input: JsonObject): RestRequest {
  const refuse = (issues: string): never => {
    throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues });
  };
  const url = new URL(endpoint);
  if (config.path !== '') {
    const path = fillPath(config.path, input, refuse);
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${path.replace(/^\//, '')}`;
  }
  for (const [name, template] of Object.entries(config.query)) {
    const value = fillText(template, input);
    if (value !== undefined) url.searchParams.append(name, value.toWellFormed());
  }
  const body = config.body === undefined ? remainingFields(config, input, refuse) : fillJson(config.body, input);
  const { method, headers } = config;
  if (config.body !== undefined || !WITHOUT_BODY.includes(method)) return { url: url.href, method, headers, body };
  for (const [name, value] of Object.entries(body as JsonObject)) {
    if (value !== null)
      url.searchParams.append(name, typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value));
  }
  return { url: url.href, method, headers };
}

/** An argument takes the place of a whole name in the path, and of nothing beyond. */
function fillPath(template: string, input: JsonObject, refuse: (issues: string) => never): string {
  for (const name of placeholdersOf(template)) {
    const value = argumentText(input, name) ?? '';
    if (value === '') return refuse(`${name} is needed in the path of the request`);
    if (hasDotSegment(value)) return refuse(`${name} may not lead out of the path of the request`);
  }
  const path = fillText(template, input, (text) => encodeURIComponent(text.toWellFormed())) ?? '';
  return hasDotSegment(path) ? refuse('the arguments may not lead out of the path of the request') : path;
}

/** The arguments that neither path nor query took, under the names that the server knows them by. */
function remainingFields(config: RestConfig, input: JsonObject, refuse: (issues: string) => never): JsonObject {
  const taken = new Set([...placeholdersOf(config.path), ...placeholdersOf(config.query)]);
  const fields = new Map<string, JsonValue>();
  for (const [name, value] of Object.entries(input)) {
    if (taken.has(name)) continue;
    const field = Object.hasOwn(config.rename, name) ? (config.rename[name] as string) : name;
    if (fields.has(field)) return refuse(`two arguments stand for the field ${field}`);
    fields.set(field, value);
  }
  return Object.fromEntries(fields);
}
