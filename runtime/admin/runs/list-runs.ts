import * as z from 'zod/v4';

import { listRuns as listStatement, type RunEntry } from '../../storage/sql/admin/list-runs';
import { strictObject } from '../../util/known-keys';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { cursorField, limitField, tenantIdField, toCursor, toPage } from '../read-input';

export const listRuns = operation({
  name: 'run.list',
  title: 'List',
  action: 'List runs',
  description: 'The runs of a tenant, the newest first',
  lists: 'runs',
  input: strictObject({
    tenantId: tenantIdField,
    state: z
      .enum(['running', 'waiting', 'done', 'failed'])
      .optional()
      .meta({
        names: {
          '': 'Any',
          done: 'Done',
          failed: 'Failed',
          running: 'Running',
          waiting: ['Waiting', 'For an approval'],
        },
        initial: '',
      }),
    limit: limitField.default(50),
    after: cursorField(z.tuple([z.string().regex(/^\d{1,12}(\.\d{1,6})?$/), z.string()])).optional(),
  }),
  run: async ({ postgres: { query } }, asked) => {
    const { limit, after: [afterTime, afterTask] = [], ...given } = asked;
    await checkTenant(query, given.tenantId);
    const rows = await query<RunEntry & { created_epoch: string }>(
      listStatement({ ...given, afterTime, afterTask, rows: limit + 1 }),
    );
    const page = toPage(rows, limit, (run) => toCursor([run.created_epoch, run.task_id]));
    return { runs: page.rows.map(({ created_epoch: _epoch, ...run }): RunEntry => run), next: page.next };
  },
});
