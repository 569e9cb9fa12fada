import { buffer } from 'node:stream/consumers';

import { RuntimeError } from '../errors/runtime-error';
import { isUuid } from '../util/clock';
import { terminal } from './terminal';

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

/** Standard input to its end, without a byte order mark. Throws a UsageError for what is not UTF-8. */
export async function readStandardInput(): Promise<string> {
  const text = decodeUtf8(await buffer(terminal().stdin));
  if (text === undefined) throw new UsageError('Standard input is not UTF-8 text.');
  return text;
}

/** The text, without a byte order mark; undefined for bytes that are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
