import { canOpen } from '../../vault/rotate-key';
import { sealingKeyId } from '../../vault/sealer';
import { secretOwner } from '../../vault/secret-owner';
import type { SecretEntry } from '../contract/secret';
import { operation } from '../operation';
import { scoped, shownScope } from '../scope';
import { needSealer, SHARED } from './secret-scope';

export const listSecrets = operation({
  name: 'secret.list',
  title: 'List',
  action: 'List secrets',
  description: 'Names only, never values',
  needs: ['vault'],
  lists: 'secrets',
  input: scoped(SHARED, {}),
  run: async ({ vault, sealer }, { tenantId }) => {
    const opener = needSealer(sealer);
    const rows = await vault.list(tenantId);
    const secrets = rows.map(({ tenant_id: owner, name, sealed, updated_at }): SecretEntry => ({
      name,
      scope: owner === null ? 'shared' : 'tenant',
      key_id: sealingKeyId(sealed) ?? null,
      is_readable: canOpen(opener, sealed, secretOwner(owner ?? undefined, name)),
      updated_at,
    }));
    return { ...shownScope(tenantId), secrets };
  },
});
