import { RuntimeError } from '../../errors/runtime-error';
import { operation } from '../operation';
import { scoped, shownScope } from '../scope';
import { checkName, secretNameField, SHARED } from './secret-scope';

export const deleteSecret = operation({
  name: 'secret.delete',
  title: 'Delete',
  action: 'Delete a secret',
  description: 'Forget a secret',
  input: scoped(SHARED, { name: secretNameField }),
  run: async ({ vault }, { tenantId, name }) => {
    checkName(name);
    if (!(await vault.remove(tenantId, name))) {
      const whose = tenantId === undefined ? 'that is shared' : `of tenant ${tenantId}`;
      throw new RuntimeError('VAULT_SECRET_UNKNOWN', { name, scope: whose });
    }
    return { ...shownScope(tenantId), name, removed: true as const };
  },
});
