import type { JsonObject, JsonValue } from '../../util/json';
import { decoded } from '../../util/redaction/redact';
import type { WorkflowNode } from '../contract';
import { isExpression, parameterAt } from '../parameters';
import { showName } from '../show-name';
import { holdsSecret, isSecretName } from './secret-text';
import { serverNameOf } from './tool-names';
import {
  MAX_CODE,
  type MigratedToolRow,
  type Refusal,
  type RowRequest,
  type ServerRow,
  serverStatement,
  vaultName,
} from './tool-row';

const MAX_URL = 2000;
const DEFAULT_TIMEOUT_MS = 60_000;

/** The MCP Client Tool as a server of the database; n8n and we put the same name before its tools. */
export function mcpServerRow(request: RowRequest): MigratedToolRow | Refusal {
  const { node } = request;
  const code = serverNameOf(node);
  if (code.length > MAX_CODE || code === '')
    return { why: `its name gives a code of more than ${MAX_CODE} characters.` };
  const target = readTarget(node);
  if (typeof target === 'string') return { why: target };
  const hasSecret = node.parameters.authentication === 'bearerAuth';
  const secret = hasSecret ? vaultName(code) : undefined;
  const credential = showName(node.credentials?.httpBearerAuth?.name ?? 'httpBearerAuth');
  return {
    code,
    allowed: `${code}_*`,
    statement: serverStatement({ code, ...target, auth: readAuth(secret) }, request),
    secrets:
      secret === undefined
        ? []
        : [`Put the token of the credential ${credential} into the vault under the name ${secret}.`],
  };
}

type Target = Omit<ServerRow, 'code' | 'auth'>;

/** The server, or why a row cannot stand for it. */
function readTarget(node: WorkflowNode): Target | string {
  const { parameters } = node;
  const { authentication = 'none' } = parameters;
  const url = parameters[node.typeVersion === 1 ? 'sseEndpoint' : 'endpointUrl'];
  const transport = transportOf(node);
  const lists = readLists(parameters);
  const timeout = parameterAt(parameters, 'options.timeout') ?? DEFAULT_TIMEOUT_MS;
  if (!isFixedUrl(url)) return 'its address is not written in the node, or holds what looks like a secret.';
  if (transport === undefined) return 'its transport is none that a row can have.';
  if (authentication !== 'none' && authentication !== 'bearerAuth') return 'only n8n knows how its credential is sent.';
  if (lists === undefined) return 'its list of tools is an expression.';
  if (typeof timeout !== 'number') return 'its time-out is an expression.';
  return { url, transport, ...lists, settings: { call_timeout_ms: timeout } };
}

/** Reads the selection of tools; with an empty one n8n offers all. */
function readLists(parameters: JsonObject): Pick<Target, 'includeTools' | 'excludeTools'> | undefined {
  const { include = 'all' } = parameters;
  const included = namesOf(parameters.includeTools);
  const excluded = namesOf(parameters.excludeTools);
  if (included === undefined || excluded === undefined) return undefined;
  return {
    includeTools: include === 'selected' && included.length > 0 ? included : undefined,
    excludeTools: include === 'except' ? excluded : [],
  };
}

function readAuth(secret: string | undefined): JsonObject {
  return secret === undefined ? { kind: 'none' } : { kind: 'bearer', token: `vault:${secret}` };
}

function transportOf({ typeVersion, parameters }: WorkflowNode): 'http' | 'sse' | undefined {
  const given =
    typeVersion === 1 ? 'sse' : (parameters.serverTransport ?? (typeVersion === 1.1 ? 'sse' : 'httpStreamable'));
  if (given === 'sse') return 'sse';
  return given === 'httpStreamable' ? 'http' : undefined;
}

function isFixedUrl(url: JsonValue | undefined): url is string {
  return (
    typeof url === 'string' &&
    !isExpression(url) &&
    url.length <= MAX_URL &&
    /^https?:\/\/[^@]+$/i.test(url) &&
    URL.canParse(url) &&
    !holdsSecretPart(url)
  );
}

/** Many servers know their users by a part of the path or a parameter. */
function holdsSecretPart(address: string): boolean {
  const { hostname, pathname, searchParams, hash } = new URL(address);
  const texts = [hostname, decoded(pathname), hash, ...searchParams.values()];
  return texts.some(holdsSecret) || [...searchParams.keys()].some(isSecretName);
}

function namesOf(value: JsonValue | undefined): readonly string[] | undefined {
  if (value === undefined || value === '') return [];
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string')) return undefined;
  return value;
}
