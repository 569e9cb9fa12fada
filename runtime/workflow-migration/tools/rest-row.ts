import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { redactForms } from '../../util/redaction/redact-forms';
import type { WorkflowNode } from '../contract';
import type { ArgumentText, ModelArgument } from '../expressions/from-ai';
import { isExpression, withoutUndefined } from '../parameters';
import { showName } from '../show-name';
import { sealSecrets } from './seal-secrets';
import { holdsSecret } from './secret-text';
import { toolNameOf } from './tool-names';
import {
  isRefusal,
  MAX_CODE,
  type MigratedToolRow,
  type Refusal,
  restStatement,
  type RowRequest,
  vaultName,
} from './tool-row';

/** A request as an HTTP tool node describes it; undefined for a part that a row cannot have. */
interface HttpRequest {
  readonly url: ArgumentText | undefined;
  readonly query: readonly Pair[] | undefined;
  readonly headers: readonly Pair[] | undefined;
  /** `none` where none is sent. */
  readonly body: Body | 'none' | undefined;
}

export interface Pair {
  readonly name: string;
  readonly value: ArgumentText;
}

export interface Body {
  readonly value: JsonValue;
  readonly arguments: readonly ModelArgument[];
}

const METHODS: ReadonlySet<JsonValue> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
const WITH_BODY: ReadonlySet<JsonValue> = new Set(['POST', 'PUT', 'PATCH']);
const MAX_ENDPOINT = 500;
/** What n8n waits for an answer when the node says nothing. */
const DEFAULT_TIMEOUT_MS = 300_000;
const MAX_TIMEOUT_MS = 600_000;

/** The row of the transport `rest` that sends the same request and looks the same to the model. */
export function restRow(request: RowRequest, http: HttpRequest): MigratedToolRow | Refusal {
  const { node } = request;
  const code = toolNameOf(node);
  const why = outerRefusal(node, code);
  if (why !== undefined) return { why };
  const parts = readParts(node, http);
  if (typeof parts === 'string') return { why: parts };
  const schema = schemaOf(parts.arguments);
  if (schema === undefined) return { why: 'it asks the model for one argument in two ways.' };
  const sealed = sealSecrets(code, parts.config);
  if (isRefusal(sealed)) return sealed;
  const { authHeader, secrets } = readAuth(node, code);
  const { options } = node.parameters;
  const timeout = isJsonObject(options) ? (options.timeout ?? DEFAULT_TIMEOUT_MS) : DEFAULT_TIMEOUT_MS;
  const row = {
    code,
    label: showName(node.name),
    description: descriptionOf(node) ?? '',
    schema,
    endpoint: parts.endpoint,
    config: sealed.config,
    authHeader,
    timeoutMs: typeof timeout === 'number' ? timeout : undefined,
  };
  return { code, allowed: code, statement: restStatement(row, request), secrets: [...secrets, ...sealed.secrets] };
}

function outerRefusal(node: WorkflowNode, code: string): string | undefined {
  const { parameters } = node;
  const { options = {}, method = 'GET' } = parameters;
  if (code.length > MAX_CODE || code === '') return `its name gives a code of more than ${MAX_CODE} characters.`;
  if (descriptionOf(node) === undefined)
    return 'its description is not written in the node, or holds what looks like a secret.';
  if (!METHODS.has(method)) return 'its method is none that a row can have.';
  if (!isKnownAuth(parameters)) return 'only n8n knows how its credential is sent.';
  if (!hasPlainOptions(options)) return 'it has options that a row has no like for.';
  return parameters.optimizeResponse === true ? 'it shortens the answer for the model.' : undefined;
}

function hasPlainOptions(options: JsonValue): boolean {
  return (
    isJsonObject(options) && Object.entries(options).every(([name, value]) => name === 'timeout' && isTimeout(value))
  );
}

function isTimeout(value: JsonValue): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_TIMEOUT_MS;
}

function descriptionOf({ parameters: { toolDescription, descriptionType } }: WorkflowNode): string | undefined {
  if (typeof toolDescription !== 'string' || isExpression(toolDescription) || descriptionType === 'auto')
    return undefined;
  // What has the form of a secret is none of the model's business, either.
  return toolDescription.trim() === '' || redactForms(toolDescription) !== toolDescription
    ? undefined
    : toolDescription;
}

function isKnownAuth({ authentication = 'none', genericAuthType }: JsonObject): boolean {
  if (authentication === 'none') return true;
  const isGeneric = authentication === 'genericCredentialType';
  return isGeneric && (genericAuthType === 'httpBearerAuth' || genericAuthType === 'httpBasicAuth');
}

interface Parts {
  readonly endpoint: string;
  readonly config: JsonObject;
  readonly arguments: readonly ModelArgument[];
}

/** The parts of the request, or why a row cannot send it. */
function readParts({ parameters }: WorkflowNode, http: HttpRequest): Parts | string {
  const { method = 'GET' } = parameters;
  const address = readAddress(http.url);
  if (address === undefined) return WHY.url;
  const { query, headers, body } = http;
  if (query === undefined) return WHY.query;
  if (headers === undefined || !headers.every(isFixedHeader)) return WHY.headers;
  if (body === undefined) return WHY.body;
  // A row without a body would send an empty object.
  if (WITH_BODY.has(method) !== (body !== 'none')) return WHY.method;
  const sent = body === 'none' ? { arguments: [] } : body;
  return {
    endpoint: address.endpoint,
    config: withoutUndefined({
      method,
      path: address.path,
      query: textsOf(query),
      headers: textsOf(headers),
      body: 'value' in sent ? sent.value : undefined,
    }),
    arguments: [...address.arguments, ...query.flatMap(({ value }) => value.arguments), ...sent.arguments],
  };
}

const WHY = {
  url: 'its URL is no address whose path alone holds what the model gives, or holds what looks like a secret.',
  query: 'its query is not a list of plain names and values.',
  headers: 'its headers are not a list of plain names and fixed values.',
  body: 'its body is no plain JSON.',
  method: 'its method and its body do not go together in a row.',
};

function textsOf(pairs: readonly Pair[]): JsonObject | undefined {
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs.map(({ name, value }) => [name, value.template]));
}

interface Address {
  readonly endpoint: string;
  readonly path?: string;
  readonly arguments: readonly ModelArgument[];
}

function readAddress(url: ArgumentText | undefined): Address | undefined {
  if (url === undefined) return undefined;
  const [, endpoint = '', path = ''] = /^\s*(https?:\/\/[^/?#\s{}@\\]+)([^?#\\]*)\s*$/i.exec(url.template) ?? [];
  if (!URL.canParse(endpoint) || endpoint.length > MAX_ENDPOINT || !isPlainPath(path)) return undefined;
  if ([endpoint, path].some(holdsSecret)) return undefined;
  return { endpoint, path: path.trim() || undefined, arguments: url.arguments };
}

function isPlainPath(path: string): boolean {
  const isUpward = path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
  return !isUpward && !path.startsWith('//');
}

/** No header is made of what the model writes. */
function isFixedHeader({ value }: Pair): boolean {
  return value.arguments.length === 0;
}

/** The schema, as n8n shows the arguments to the model; undefined when one of them is described in two ways. */
function schemaOf(found: readonly ModelArgument[]): JsonObject | undefined {
  const properties = new Map<string, JsonObject>();
  for (const { key, type, description } of found) {
    const property: JsonObject = description === '' ? { type } : { type, description };
    const before = properties.get(key);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(property)) return undefined;
    properties.set(key, property);
  }
  const names = [...properties.keys()].filter((key) => found.some((one) => one.key === key && one.isOptional !== true));
  const required: JsonObject = names.length === 0 ? {} : { required: names };
  return { type: 'object', properties: Object.fromEntries(properties), ...required, additionalProperties: false };
}

function readAuth(
  { parameters, credentials }: WorkflowNode,
  code: string,
): { readonly authHeader?: string; readonly secrets: readonly string[] } {
  const { authentication = 'none', genericAuthType } = parameters;
  if (authentication === 'none') return { secrets: [] };
  const type = genericAuthType === 'httpBasicAuth' ? 'httpBasicAuth' : 'httpBearerAuth';
  const name = showName(credentials?.[type]?.name ?? type);
  const isBearer = type === 'httpBearerAuth';
  const value = isBearer ? 'the token' : '"Basic " and the Base64 text of user:password';
  return {
    authHeader: isBearer ? `Bearer vault:${vaultName(code)}` : `vault:${vaultName(code)}`,
    secrets: [`Put ${value} of the credential ${name} into the vault under the name ${vaultName(code)}.`],
  };
}
