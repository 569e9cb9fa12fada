import { RuntimeError } from '../errors/runtime-error';
import { tenantExistsStatement } from '../storage/sql/usage-report';
import type { Query } from '../storage/statement';

/** Rejects with TENANT_NOT_FOUND. */
export async function checkTenant(query: Query, tenantId: string): Promise<void> {
  const [tenant] = await query(tenantExistsStatement(tenantId));
  if (tenant === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
}
