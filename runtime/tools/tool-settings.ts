import * as z from 'zod/v4';

import type { ToolRow } from '../contracts/tenant';
import type { ToolSettings } from '../contracts/tools/tool-transport';
import { type JsonObject, type JsonValue, tryParseJson, withoutPrototypeKeys } from '../util/json';
import { strictObject } from '../util/known-keys';
import { parseSetting } from '../util/parse-setting';
import { issueOfName } from '../util/variables/store';
import { NO_ARGUMENTS, objectSchema } from './schemas/object-schema';

const MAX_TIMEOUT_MS = 600_000;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const customConfigSchema = strictObject({
  mcp_endpoint: z.string().optional(),
  auth_header: z.string().nullish(),
  headers: z.record(z.string().toLowerCase(), z.string()).default({}),
  timeout_ms: z.number().positive().optional(),
  description: z.string().optional(),
  allowed_hosts: z.array(z.string().toLowerCase()).default([]),
  repeatable: z.boolean().optional(),
  read_only: z.boolean().optional(),
  store_as: z.string().nullish(),
  transport_config: z.record(z.string(), z.unknown()).default({}),
  // Read with the other rules.
  permissions: z.unknown(),
  fixed_arguments: z.unknown(),
});

/** What transport_config may hold where the transport has no settings of its own. */
const plainConfigSchema = strictObject({ repeatable: z.unknown(), read_only: z.unknown(), store_as: z.unknown() });
/** These read their settings themselves. */
const CONFIGURED = ['rest', 'builtin'];

/** Throws an Error whose message says what in the row cannot be used. */
export function readToolSettings(row: ToolRow, defaultTimeoutMs: number): ToolSettings {
  if (row.secretFailure !== undefined) throw new Error(row.secretFailure);
  if (!TOOL_NAME.test(row.code)) throw new Error('its code must match [a-zA-Z0-9_-]{1,64}');
  const { custom, config } = readToolConfig(row);
  const { authorization: _authorization, ...headers } = custom.headers;
  return {
    name: row.code,
    description: custom.description ?? row.description,
    inputSchema: readSchema(row.parametersSchema),
    endpoint: readEndpoint(custom.mcp_endpoint ?? row.endpoint, row.transport),
    authHeader: readAuthHeader(custom, row),
    headers,
    timeoutMs: Math.min(custom.timeout_ms ?? positive(row.timeoutMs) ?? defaultTimeoutMs, MAX_TIMEOUT_MS),
    mcpTool: row.mcpTool ?? row.code,
    config,
    allowedHosts: custom.allowed_hosts,
    secrets: row.secrets ?? [],
    isRepeatable: config.repeatable === true,
    isReadOnly: config.read_only as boolean | undefined,
    storeAs: (config.store_as as string | null | undefined) ?? undefined,
  };
}

/**
 * What a row says of its tool in custom_config and transport_config. Throws an Error that names what cannot be read; what
 * transports with settings of their own say to theirs is not asked.
 */
export function readToolConfig(row: Pick<ToolRow, 'customConfig' | 'transportConfig' | 'transport'>): {
  readonly custom: z.output<typeof customConfigSchema>;
  readonly config: JsonObject;
} {
  const custom = parseSetting(customConfigSchema, withoutPrototypeKeys(row.customConfig), 'custom_config');
  const config = readConfig(row.transportConfig, custom);
  if (!CONFIGURED.includes(row.transport)) parseSetting(plainConfigSchema, config, 'transport_config');
  return { custom, config };
}

/** A tenant's own is laid over the row's, key by key. */
function readConfig(
  ofRow: JsonObject,
  { transport_config: own, repeatable, read_only, store_as }: z.output<typeof customConfigSchema>,
): JsonObject {
  const config: JsonObject = {
    ...{ ...ofRow, ...(own as JsonObject) },
    ...(repeatable === undefined ? {} : { repeatable }),
    ...(read_only === undefined ? {} : { read_only }),
    ...(store_as === undefined ? {} : { store_as }),
  };
  const wrong = ['repeatable', 'read_only'].find((key) => !['undefined', 'boolean'].includes(typeof config[key]));
  if (wrong !== undefined) throw new Error(`its transport_config.${wrong} is neither true nor false`);
  const issue = issueOfStoreAs(config.store_as);
  if (issue !== undefined) throw new Error(`its transport_config.store_as cannot be used: ${issue}`);
  return config;
}

function issueOfStoreAs(name: JsonValue | undefined): string | undefined {
  // A tenant may switch it off with null.
  if (name === undefined || name === null) return undefined;
  return typeof name === 'string' ? issueOfName(name) : 'it is no text';
}

function positive(timeoutMs: number | null): number | undefined {
  return timeoutMs !== null && timeoutMs > 0 ? timeoutMs : undefined;
}

function readEndpoint(endpoint: string | null, transport: string): string {
  if (endpoint === null || endpoint === '') {
    // A built-in tool that needs one says so itself.
    if (transport === 'builtin') return '';
    throw new Error('it has no mcp_endpoint');
  }
  const url = URL.parse(endpoint);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Error('its mcp_endpoint is not an http(s) URL');
  if (url.username !== '' || url.password !== '')
    throw new Error('its mcp_endpoint holds a user or password; use auth_header');
  return endpoint;
}

/** A tenant may switch the header off with null, or write it among the other headers. */
function readAuthHeader(
  { auth_header: own, headers }: z.output<typeof customConfigSchema>,
  row: ToolRow,
): string | undefined {
  return readSecret(own === undefined ? (headers.authorization ?? row.authHeader) : own);
}

function readSecret(value: string | null): string | undefined {
  if (value === null || value === '') return undefined;
  // Sending the reference itself would only look like a wrong password.
  if (/^\s*(?:\S+\s+)?vault:/i.test(value))
    throw new Error('its auth_header names a vault secret, and no vault is configured');
  return value;
}

/** Throws an Error for one that cannot be used. */
export function readSchema(raw: unknown): JsonObject {
  if (raw === null || raw === undefined) return NO_ARGUMENTS;
  const value = typeof raw === 'string' ? parseText(raw) : raw;
  return objectSchema(value, 'parameters_schema');
}

function parseText(text: string): JsonValue {
  const parsed = tryParseJson(text);
  if (!parsed.ok) throw new Error(`its parameters_schema is not valid JSON: ${parsed.reason}`);
  return parsed.value;
}
