import * as z from 'zod/v4';

import { listWaiting, type WaitingEntry } from '../../storage/sql/admin/list-runs';
import { strictObject } from '../../util/known-keys';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { limitField, tenantIdField } from '../read-input';

export const listApprovals = operation({
  name: 'approval.list',
  title: 'List',
  action: 'List approvals',
  description: 'Tool calls that wait for a decision',
  lists: 'approvals',
  input: strictObject({
    tenantId: tenantIdField.optional(),
    limit: limitField.default(100).meta({ group: 'none' }),
  }),
  run: async ({ postgres: { query } }, { limit, tenantId }) => {
    if (tenantId !== undefined) await checkTenant(query, tenantId);
    return { approvals: await query<WaitingEntry>(listWaiting({ tenantId, rows: limit })) };
  },
});

export const decideApproval = operation({
  name: 'approval.decide',
  title: 'Decide',
  action: 'Decide on an approval',
  description: 'Approve or deny the tool call and resume the run; not for nodes with connected models, tools or memory',
  needs: ['provider', 'vault'],
  asksModel: true,
  input: strictObject({
    tenantId: tenantIdField,
    runId: z.uuid().meta({ initial: '={{ $json.run_id }}' }),
    decision: z.enum(['approve', 'deny']).meta({ description: 'Whether the tool call may be made' }),
    userId: z.string().max(200).optional(),
  }),
  run: ({ run }, { tenantId, runId, decision, userId }, host) =>
    run(
      {
        config: { approval: { run_id: runId, decision } },
        meta: { tenant_id: tenantId, ...(userId === undefined ? {} : { user_id: userId }) },
      },
      host,
    ),
});
