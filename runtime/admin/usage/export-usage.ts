import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import { billedLines } from '../../storage/sql/usage-report';
import type { JsonObject } from '../../util/json';
import { strictObject } from '../../util/known-keys';
import { words } from '../../util/text/words';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { fileName, period } from './period';
import { toCsv } from './to-csv';

const MOST_LINES = 100_000;

export const exportUsage = operation({
  name: 'usage.export',
  title: 'Export',
  action: 'Export the lines of the bill',
  description: 'One line for each task, as a CSV or JSON file',
  input: strictObject({ ...period, format: z.enum(['csv', 'json']).default('csv') }),
  run: async ({ postgres: { query } }, { format, ...lines }) => {
    if (lines.tenantId !== undefined) await checkTenant(query, lines.tenantId);
    const rows = await query<JsonObject>(billedLines({ ...lines, rows: MOST_LINES + 1 }));
    if (rows.length > MOST_LINES) throw new RuntimeError('USAGE_TOO_LONG', { most: MOST_LINES });
    const name = fileName(lines);
    return format === 'csv'
      ? { file_name: `${name}.csv`, mime_type: 'text/csv', text: toCsv(COLUMNS, rows) }
      : { file_name: `${name}.json`, mime_type: 'application/json', text: JSON.stringify(rows) };
  },
});

/** The columns of the file, also where it has no lines. */
const COLUMNS = words(`
  created_at tenant_id task_id trace_id task_type model_id agent_tier prompt_tokens completion_tokens
  total_tokens cached_tokens cache_write_tokens reasoning_tokens cost_usd usage_estimated client_id
  dialog_id user_id session_id
`);
