import { RuntimeError } from '../../errors/runtime-error';
import { forgetLogin } from '../../storage/sql/admin/list-servers';
import { strictObject } from '../../util/known-keys';
import { checkTenant } from '../check-tenant';
import { operation } from '../operation';
import { serverField, tenantIdField } from '../read-input';

export const revokeLogin = operation({
  name: 'oauthLogin.revoke',
  title: 'Revoke',
  action: 'Revoke an OAuth login',
  description: 'Forget the tokens; the next call of every process has none',
  needs: ['vault'],
  input: strictObject({ tenantId: tenantIdField, server: serverField }),
  run: async ({ postgres: { query }, tenantTools }, given) => {
    await checkTenant(query, given.tenantId);
    const rows = await query(forgetLogin(given));
    if (rows.length === 0) throw new RuntimeError('LOGIN_UNKNOWN', given);
    // Those of this process need not wait until they are idle.
    await tenantTools.disconnect(given).catch(() => []);
    return { server: given.server, revoked: true as const };
  },
});
