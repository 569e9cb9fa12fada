import * as z from 'zod/v4';

import { strictObject } from '../util/known-keys';
import type { ScopeShown } from './contract/scope';
import { tenantIdField } from './read-input';

/** The input of an operation on what a tenant has or, with `shared`, all tenants; `shared` says what that means. */
export function scoped<Shape extends z.ZodRawShape>(
  shared: string,
  shape: Shape,
): z.ZodType<z.output<z.ZodObject<Shape & Scope>>, z.input<z.ZodObject<Shape & Scope>>> {
  const isOneScope = (given: { readonly tenantId?: unknown; readonly shared?: unknown }): boolean =>
    (given.tenantId === undefined) === (given.shared === true);
  return strictObject({ ...scope(shared), ...shape }).refine(isOneScope, 'needs a tenant or shared, one of them');
}

type Scope = ReturnType<typeof scope>;

const scope = (description: string) => ({
  shared: z.boolean().optional().meta({ initial: false, title: 'Shared by All Tenants', description }),
  tenantId: tenantIdField.optional().meta({ panel: 'owner' }),
});

export function shownScope(tenantId: string | undefined): ScopeShown {
  return tenantId === undefined ? { scope: 'shared' } : { tenant_id: tenantId };
}
