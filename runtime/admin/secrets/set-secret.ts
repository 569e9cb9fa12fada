import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import { secretOwner } from '../../vault/secret-owner';
import { operation } from '../operation';
import { scoped, shownScope } from '../scope';
import { checkName, needSealer, secretNameField, SHARED } from './secret-scope';

export const setSecret = operation({
  name: 'secret.set',
  title: 'Set',
  action: 'Set a secret',
  description: 'Encrypt a secret; tools name it as vault:NAME',
  needs: ['vault'],
  input: scoped(SHARED, {
    name: secretNameField,
    value: z.string().meta({
      secret: true,
      description: 'Give it by an expression: what is typed here is stored in the workflow as plain text',
    }),
  }),
  run: async ({ vault, sealer }, { tenantId, name, value }) => {
    checkName(name);
    if (value.trim() === '') throw new RuntimeError('VAULT_SECRET_INVALID', { reason: 'it is empty' });
    const { seal, keyId } = needSealer(sealer);
    const sealed = seal(value, secretOwner(tenantId, name));
    if (!(await vault.set({ tenantId, name, sealed }))) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
    return { ...shownScope(tenantId), name, key_id: keyId };
  },
});
