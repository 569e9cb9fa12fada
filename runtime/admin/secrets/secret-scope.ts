import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import type { Sealer } from '../../vault/sealer';
import { SECRET_NAME } from '../../vault/secret-owner';

/** Description of the field `shared`. */
export const SHARED = 'Whether the tools of every tenant may name the secret';
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
