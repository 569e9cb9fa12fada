import { RuntimeError } from '../errors/runtime-error';

/** Wrong use of the command line: exit code 2, with this text. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The id after --tenant. Throws a UsageError without one, TENANT_ID_INVALID for one that is no UUID. */
export function readTenant({ tenant }: { readonly tenant?: string }, command: string): string {
  if (tenant === undefined) throw new UsageError(`${command} needs --tenant ID.`);
  if (!UUID.test(tenant)) throw new RuntimeError('TENANT_ID_INVALID', { tenantId: tenant });
  // As Postgres writes it: what is sealed for a tenant is sealed for this text.
  return tenant.toLowerCase();
}
