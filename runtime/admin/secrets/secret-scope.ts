import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import { strictObject } from '../../util/known-keys';
import type { Sealer } from '../../vault/sealer';
import { SECRET_NAME } from '../../vault/secret-owner';
import type { ScopeShown } from '../contract/secret';
import { tenantIdField } from '../read-input';

/** The input of an operation on a tenant's secrets or, with `shared`, on those of all tenants. */
export function scoped<Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodType<z.output<z.ZodObject<Shape & typeof scope>>, z.input<z.ZodObject<Shape & typeof scope>>> {
  const isOneScope = (given: { readonly tenantId?: unknown; readonly shared?: unknown }): boolean =>
    (given.tenantId === undefined) === (given.shared === true);
  return strictObject({ ...scope, ...shape }).refine(isOneScope, 'needs a tenant or shared, one of them');
}

const scope = {
  shared: z.boolean().optional().meta({
    initial: false,
    title: 'Shared by All Tenants',
    description: 'Whether the tools of every tenant may name the secret',
  }),
  tenantId: tenantIdField.optional().meta({ panel: 'ownerOfSecret' }),
};
export const secretNameField = z.string().meta({ placeholder: 'SHOP_KEY' });

/** Throws VAULT_KEY_MISSING. */
export function needSealer(sealer: Sealer | undefined): Sealer {
  if (sealer === undefined) throw new RuntimeError('VAULT_KEY_MISSING');
  return sealer;
}

/** Throws VAULT_SECRET_INVALID. The text itself is not shown: it may be the secret, in the wrong place. */
export function checkName(name: string): void {
  if (SECRET_NAME.test(name)) return;
  throw new RuntimeError('VAULT_SECRET_INVALID', { reason: 'its name must match [A-Za-z0-9._-]{1,100}' });
}

export function shownScope(tenantId: string | undefined): ScopeShown {
  return tenantId === undefined ? { scope: 'shared' } : { tenant_id: tenantId };
}
