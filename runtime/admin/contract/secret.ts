import type { EncryptReport } from '../../vault/encrypt-rows';
import type { RotateReport } from '../../vault/rotate-key';
import type { AdminHost } from './host';
import type { Scope, ScopeShown } from './scope';

interface Named extends Scope {
  readonly name: string;
}

export interface SecretEntry {
  readonly name: string;
  readonly scope: 'tenant' | 'shared';
  readonly key_id: string | null;
  /** True if the present key opens it. */
  readonly is_readable: boolean;
  readonly updated_at: Date;
}

/**
 * The vault. No value is ever told. Every method rejects with ADMIN_INPUT_INVALID, VAULT_KEY_MISSING, TENANT_NOT_FOUND,
 * VAULT_SECRET_INVALID, VAULT_SECRET_UNKNOWN or a DB_ code.
 */
export interface SecretAdmin {
  /** Encrypts a secret, also over another of this name; rows name it as `vault:NAME`. */
  readonly set: (
    secret: Named & { readonly value: string },
  ) => Promise<ScopeShown & { readonly name: string; readonly key_id: string }>;
  /** A tenant's own and the shared ones. */
  readonly list: (scope: Scope) => Promise<ScopeShown & { readonly secrets: readonly SecretEntry[] }>;
  readonly delete: (secret: Named) => Promise<ScopeShown & { readonly name: string; readonly removed: true }>;
  /** Encrypts everything anew under the first key. */
  readonly rotate: (options?: Readonly<Record<string, never>>, host?: AdminHost) => Promise<RotateReport>;
  /** Moves plain-text secrets from rows into the vault; `dryRun` only reports them. */
  readonly encrypt: (options?: { readonly dryRun?: boolean }, host?: AdminHost) => Promise<EncryptReport>;
}
