import * as z from 'zod/v4';

import type { ToolSettings, TransportReply } from '../../contracts/tools/tool-transport';
import { RuntimeError } from '../../errors/runtime-error';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, tryParseJson } from '../../util/json';
import { sendRequest, toTransportReply } from '../transports/send-request';
import type { BuiltinTool } from './builtin-tool';
import { cypherIssue, usesParameter } from './check-cypher';
import { fitList } from './fit-json';
import { configOf, readConfig } from './read-config';

/** Longer answers are broken off before they are read as JSON. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const MAX_STATEMENT_LENGTH = 20_000;

const configSchema = configOf({
  database: z
    .string()
    .regex(/^[\w.-]+$/)
    .default('neo4j'),
  max_rows: z.int().min(1).max(10_000).default(100),
  /** Procedures and functions beside those that only read. */
  procedures: z.array(z.string()).default([]),
  /** False where the database belongs to one tenant. */
  require_tenant_id: z.boolean().default(true),
});

type Neo4jConfig = z.output<typeof configSchema>;

/** Reads a graph by Cypher over Neo4j's HTTP Query API. */
export const neo4jQuery: BuiltinTool = {
  description:
    'Runs a read-only Cypher query on the knowledge graph. The parameter $tenant_id is set for you: filter by it.',
  inputSchema: {
    type: 'object',
    properties: {
      cypher: { type: 'string', description: 'One statement that only reads, with LIMIT' },
      parameters: { type: 'object', description: 'Values for the $parameters of the statement' },
    },
    required: ['cypher'],
    additionalProperties: false,
  },
  isRepeatable: true,
  config: configSchema,
  prepare: (settings, { dispatcher }) => {
    const config = readConfig(configSchema, settings);
    if (settings.endpoint === '') throw new Error('it has no mcp_endpoint, the address of Neo4j');
    const url = `${settings.endpoint.replace(/\/$/, '')}/db/${config.database}/query/v2`;
    return async (call) => {
      const statement = readStatement(settings.name, call.input, config);
      const parameters = { ...objectOf(call.input.parameters), tenant_id: call.meta.tenant_id };
      const reply = await sendRequest(dispatcher, settings, {
        url,
        method: 'POST',
        body: { statement, parameters, accessMode: 'Read' },
        signal: call.signal,
        maxOutputBytes: MAX_ANSWER_BYTES,
      });
      return readReply(settings, toTransportReply(reply), { ...config, limitBytes: call.maxOutputBytes });
    };
  },
};

function readStatement(tool: string, { cypher }: JsonObject, config: Neo4jConfig): string {
  if (typeof cypher !== 'string' || cypher.length > MAX_STATEMENT_LENGTH) {
    const issues = `cypher must be string of at most ${MAX_STATEMENT_LENGTH} characters`;
    throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues });
  }
  const issue = cypherIssue(cypher, config.procedures);
  if (issue !== undefined) throw new RuntimeError('TOOL_PERMISSION_DENIED', { tool, reason: issue });
  if (config.require_tenant_id && !usesParameter(cypher, 'tenant_id')) {
    throw new RuntimeError('TOOL_PERMISSION_DENIED', { tool, reason: 'it does not filter by $tenant_id' });
  }
  return cypher;
}

function readReply(
  { name: tool }: ToolSettings,
  reply: TransportReply,
  limits: { readonly max_rows: number; readonly limitBytes: number },
): TransportReply {
  if (reply.isCut) throw new RuntimeError('TOOL_FAILED', { tool, reason: 'the answer is too long; use LIMIT' });
  const parsed = tryParseJson(reply.text);
  const answer = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  const errors = errorTexts(answer.errors);
  if (errors !== '') return { text: errors, isCut: false, failure: { code: 'TOOL_FAILED' } };
  if (reply.failure !== undefined) return reply;
  const { data } = answer;
  if (!isJsonObject(data) || !Array.isArray(data.fields) || !Array.isArray(data.values)) {
    throw new RuntimeError('TOOL_FAILED', { tool, reason: 'the answer is not one of the Neo4j Query API' });
  }
  const { fields, values } = data as { readonly fields: readonly JsonValue[]; readonly values: readonly JsonValue[] };
  const rows = values.slice(0, limits.max_rows);
  const text = fitList(rows, limits.limitBytes, (kept, isCut) => ({
    fields,
    rows: kept,
    ...(isCut || values.length > kept.length ? { truncated: true } : {}),
  }));
  return { text, isCut: false };
}

function errorTexts(errors: JsonValue | undefined): string {
  if (!Array.isArray(errors)) return '';
  return (errors as JsonValue[])
    .map((error) =>
      isJsonObject(error) && typeof error.code === 'string' && typeof error.message === 'string'
        ? `${error.code}: ${error.message}`
        : JSON.stringify(error),
    )
    .join('; ');
}
