import * as z from 'zod/v4';

import {
  getSession as getStatement,
  listMessages,
  listSessions as listStatement,
  type SessionEntry,
  type SessionMessageEntry,
} from '../../storage/sql/sessions/manage-sessions';
import { strictObject } from '../../util/known-keys';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { cursorField, limitField, tenantIdField, toCursor, toPage } from '../read-input';
import { agentField, sessionShape, unknownSession } from './session-fields';

const TIME = z.string().regex(/^\d{1,12}(\.\d{1,6})?$/);

export const listSessions = operation({
  name: 'session.list',
  title: 'List',
  action: 'List sessions',
  description: 'The conversations of a tenant, those that were added to last first',
  lists: 'sessions',
  input: strictObject({
    tenantId: tenantIdField,
    agent: agentField.optional().meta({ group: 'filters', description: 'Only the sessions of this agent' }),
    limit: limitField.default(50),
    after: cursorField(z.tuple([TIME, z.string().regex(/^\d{1,18}$/)])).optional(),
  }),
  run: async ({ postgres: { query } }, asked) => {
    const { limit, after: [afterTime, afterId] = [], ...given } = asked;
    await checkTenant(query, given.tenantId);
    const rows = await query<SessionEntry & { updated_epoch: string; id: string }>(
      listStatement({ ...given, afterTime, afterId, rows: limit + 1 }),
    );
    const page = toPage(rows, limit, (row) => toCursor([row.updated_epoch, row.id]));
    return {
      sessions: page.rows.map(({ updated_epoch: _epoch, id: _id, ...row }): SessionEntry => row),
      next: page.next,
    };
  },
});

export const getSession = operation({
  name: 'session.get',
  title: 'Get',
  action: 'Get a session',
  description: 'Everything that was said in a conversation, with what each turn has cost',
  lists: 'messages',
  input: strictObject({
    ...sessionShape,
    limit: limitField.default(200),
    after: cursorField(z.tuple([z.string().regex(/^\d{1,9}$/)])).optional(),
  }),
  run: async ({ postgres: { query } }, { limit, after = [], ...session }) => {
    const { tenantId } = session;
    await checkTenant(query, tenantId);
    const [found] = await query<SessionEntry & { id: string }>(getStatement(session));
    if (found === undefined) throw unknownSession(session);
    const { id, ...entry } = found;
    const rows = await query<SessionMessageEntry>(listMessages({ tenantId, id, afterNo: after[0], rows: limit + 1 }));
    const page = toPage(rows, limit, ({ no }) => toCursor([String(no)]));
    return { ...entry, messages: page.rows, next: page.next };
  },
});
