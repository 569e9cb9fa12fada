import * as z from 'zod/v4';

import type { McpAuth, McpServer, McpServerInput } from '../contracts/tools/mcp';
import { type JsonObject, objectOf, withoutPrototypeKeys } from '../util/json';
import { strictObject } from '../util/known-keys';
import { parseSetting } from '../util/parse-setting';

const NAME = /^[a-zA-Z0-9_-]{1,50}$/;
const MAX_TIMEOUT_MS = 600_000;
/** However long somebody says that a list holds. */
export const MAX_TTL_MS = 86_400_000;

const secret = z.string().min(1);

const authSchema = z.discriminatedUnion('kind', [
  strictObject({ kind: z.literal('none') }),
  strictObject({ kind: z.literal('bearer'), token: secret }),
  strictObject({ kind: z.literal('headers'), headers: z.record(z.string().toLowerCase(), secret) }),
  strictObject({
    kind: z.literal('oauth'),
    grant: z
      .enum(['authorization_code', 'client_credentials', 'cross_app_access', 'jwt_bearer'])
      .default('authorization_code'),
    client_id: z.string().optional(),
    client_secret: secret.optional(),
    private_key: secret.optional(),
    algorithm: z.string().optional(),
    assertion: secret.optional(),
    dpop: z.boolean().default(false),
    scope: z.string().optional(),
    issuer: z.string().optional(),
    client_metadata_url: z.url({ protocol: /^https$/ }).optional(),
    idp: strictObject({ token_url: z.url(), client_id: z.string(), id_token: secret }).optional(),
  }),
]);

const settingsSchema = strictObject({
  discovery_timeout_ms: z.number().positive().max(MAX_TIMEOUT_MS).optional(),
  call_timeout_ms: z.number().positive().max(MAX_TIMEOUT_MS).optional(),
  list_ttl_seconds: z.number().min(0).optional(),
  allowed_hosts: z.array(z.string()).default([]),
  answers_with_defaults: z.boolean().default(false),
});

export interface McpServerDefaults {
  readonly discoveryTimeoutMs: number;
  readonly callTimeoutMs: number;
  readonly listTtlMs: number;
}

/** Throws an Error whose message says what cannot be used; never the value of a secret. */
export function readMcpServer(input: McpServerInput, defaults: McpServerDefaults): McpServer {
  const { id, name, includeTools, excludeTools = [], allowedTiers } = input;
  if (input.secretFailure !== undefined) throw new Error(input.secretFailure);
  if (!NAME.test(name)) throw new Error('its name must match [a-zA-Z0-9_-]{1,50}');
  const settings = parse(settingsSchema, input.settings ?? {}, 'settings');
  const transport = readTransport(input.transport ?? 'http');
  const ttlMs = settings.list_ttl_seconds === undefined ? defaults.listTtlMs : settings.list_ttl_seconds * 1000;
  return {
    id,
    name,
    url: readUrl(input.url, transport),
    transport,
    auth: readAuth(input.auth ?? {}),
    includeTools,
    excludeTools,
    allowedTiers,
    discoveryTimeoutMs: settings.discovery_timeout_ms ?? defaults.discoveryTimeoutMs,
    callTimeoutMs: settings.call_timeout_ms ?? defaults.callTimeoutMs,
    listTtlMs: Math.min(ttlMs, MAX_TTL_MS),
    allowedHosts: settings.allowed_hosts.map((host) => host.toLowerCase()),
    answersWithDefaults: settings.answers_with_defaults,
    resets: input.resets,
  };
}

/** Throws an Error that says which key is wrong. An empty object is no credential. */
export function readAuth(raw: JsonObject): McpAuth {
  const parsed = parse(authSchema, raw.kind === undefined ? { ...raw, kind: 'none' } : raw, 'auth');
  if (parsed.kind !== 'oauth') return parsed;
  const { client_id, client_secret, private_key, client_metadata_url, dpop, idp, ...rest } = parsed;
  if (parsed.grant !== 'authorization_code' && client_id === undefined) {
    throw new Error(`its auth needs client_id for the grant ${parsed.grant}`);
  }
  return {
    ...rest,
    clientId: client_id,
    clientSecret: client_secret,
    privateKey: private_key,
    clientMetadataUrl: client_metadata_url,
    usesDpop: dpop,
    idp: idp && { tokenUrl: idp.token_url, clientId: idp.client_id, idToken: idp.id_token },
  };
}

const TRANSPORTS = ['http', 'sse', 'websocket', 'stdio'] as const;

function readTransport(text: string): McpServer['transport'] {
  const known = TRANSPORTS.find((transport) => transport === text);
  if (known === undefined) throw new Error(`its transport must be one of ${TRANSPORTS.join(', ')}`);
  return known;
}

function readUrl(text: string, transport: McpServer['transport']): string {
  if (transport === 'stdio') return text;
  const url = URL.parse(text);
  const isKnown = transport === 'websocket' ? /^wss?:$/ : /^https?:$/;
  if (url === null || !isKnown.test(url.protocol)) {
    throw new Error(`its URL is not ${transport === 'websocket' ? 'a ws(s)' : 'an http(s)'} URL`);
  }
  if (url.username !== '' || url.password !== '') throw new Error('its URL holds a user or password; use auth');
  return text;
}

function parse<T extends z.ZodType>(schema: T, raw: JsonObject, what: string): z.output<T> {
  return parseSetting(schema, objectOf(withoutPrototypeKeys(raw)), `its ${what}`);
}
