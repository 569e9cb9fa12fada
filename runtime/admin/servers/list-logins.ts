import { listLogins as listStatement, type LoginRow } from '../../storage/sql/admin/list-servers';
import { strictObject } from '../../util/known-keys';
import { canOpen } from '../../vault/rotate-key';
import { type Sealer, sealingKeyId } from '../../vault/sealer';
import { checkTenant } from '../check-tenant';
import type { LoginEntry } from '../contract/server';
import { operation } from '../operation';
import { tenantIdField } from '../read-input';

export const listLogins = operation({
  name: 'oauthLogin.list',
  title: 'List',
  action: 'List OAuth logins',
  description: 'Logins at MCP servers, without their tokens',
  needs: ['vault'],
  lists: 'logins',
  input: strictObject({ tenantId: tenantIdField.optional() }),
  run: async ({ postgres: { query }, sealer }, { tenantId }) => {
    if (tenantId !== undefined) await checkTenant(query, tenantId);
    const rows = await query<LoginRow>(listStatement({ tenantId }));
    return { logins: rows.map((row) => toLogin(row, sealer)) };
  },
});

function toLogin({ state, server_id: serverId, ...row }: LoginRow, sealer: Sealer | undefined): LoginEntry {
  const owner = `${row.tenant_id}/${serverId}`;
  return {
    ...row,
    key_id: sealingKeyId(state) ?? null,
    is_readable: sealer !== undefined && canOpen(sealer, state, owner),
  };
}
