import { RuntimeError } from '../errors/runtime-error';
import { isUuid } from '../util/clock';

/** Wrong use of the command line: exit code 2, with this text. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The id after --tenant. Throws a UsageError without one, TENANT_ID_INVALID for one that is no UUID. */
export function readTenant({ tenant }: { readonly tenant?: string }, command: string): string {
  if (tenant === undefined) throw new UsageError(`${command} needs --tenant ID.`);
  if (!isUuid(tenant)) throw new RuntimeError('TENANT_ID_INVALID', { tenantId: tenant });
  // As Postgres writes it: what is sealed for a tenant is sealed for this text.
  return tenant.toLowerCase();
}
