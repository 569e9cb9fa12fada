import * as z from 'zod/v4';

import { listExecutionsStatement } from '../../storage/sql/list-executions';
import type { JsonObject } from '../../util/json';
import { strictObject } from '../../util/known-keys';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { tenantIdField } from '../read-input';

export const listAudit = operation({
  name: 'audit.list',
  title: 'List',
  action: 'List tool calls',
  description: 'The newest tool calls, and what was decided on each',
  lists: 'calls',
  input: strictObject({ tenantId: tenantIdField, taskId: z.string().min(1).max(200).optional() }),
  run: async ({ postgres: { query } }, { tenantId, taskId }) => {
    await checkTenant(query, tenantId);
    return { calls: await query<JsonObject>(listExecutionsStatement(tenantId, taskId)) };
  },
});
