import * as z from 'zod/v4';

import type { ToolSettings, TransportCall, TransportReply } from '../../../contracts/tools/tool-transport';
import { RuntimeError } from '../../../errors/runtime-error';
import type { BuiltinTool, SqlPort } from '../builtin-tool';
import { fitList } from '../fit-json';
import { configOf, readConfig } from '../read-config';
import { checkQuery } from './check-query';

const MAX_ROWS = 1000;
const configSchema = configOf({ max_rows: z.int().min(1).max(MAX_ROWS).optional() });

/** Lets the model read the tenant's rows with a SELECT of its own. */
export const sqlQuery: BuiltinTool = {
  description:
    'Runs one SELECT of PostgreSQL on the data of this customer and answers with columns and rows. Only reading is ' +
    'possible, and rows of others are not visible. Ask for the columns and rows that are needed, with LIMIT.',
  inputSchema: {
    type: 'object',
    properties: { query: { type: 'string', description: 'One SELECT statement' } },
    required: ['query'],
    additionalProperties: false,
  },
  isRepeatable: true,
  config: configSchema,
  prepare: (settings, { sql }) => {
    if (sql === undefined) {
      throw new Error(
        'there is no database role for queries: the SQL credential of the node, or AGENT_SQL_DATABASE_URL',
      );
    }
    const { max_rows: maxRows = sql.maxRows } = readConfig(configSchema, settings);
    return (call) => runQuery({ settings, sql: { ...sql, maxRows } }, call);
  },
};

async function runQuery(
  { settings, sql }: { readonly settings: ToolSettings; readonly sql: SqlPort },
  call: TransportCall,
): Promise<TransportReply> {
  const { query } = call.input;
  // A row may have a schema of its own.
  if (typeof query !== 'string') {
    throw new RuntimeError('TOOL_INVALID_ARGS', { tool: settings.name, issues: 'query must be a text' });
  }
  const { columns, rows, isCut } = await sql.reader.read({
    tenantId: call.meta.tenant_id,
    text: await checkQuery(query),
    maxRows: sql.maxRows,
    maxBytes: call.maxOutputBytes,
    timeoutMs: settings.timeoutMs,
    signal: call.signal,
  });
  const text = fitList(rows, call.maxOutputBytes, (kept, isShorter) => ({
    columns,
    rows: kept,
    row_count: kept.length,
    is_cut: isCut || isShorter,
  }));
  return { text, isCut: false };
}
