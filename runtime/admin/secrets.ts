import * as z from 'zod/v4';

import type { VaultStore } from '../contracts/tools/vault';
import { RuntimeError } from '../errors/runtime-error';
import { strictObject } from '../util/known-keys';
import { canOpen, type RotateReport, rotateVault } from '../vault/rotate-key';
import { type Sealer, sealingKeyId } from '../vault/sealer';
import { SECRET_NAME, secretOwner } from '../vault/secret-owner';
import { readInput, tenantIdField } from './read-input';

/** Whose secret: a tenant's own, or one that is shared by all tenants. */
interface Scope {
  readonly tenantId?: string;
  readonly shared?: boolean;
}

interface Named extends Scope {
  readonly name: string;
}

type ScopeShown = { readonly tenant_id: string } | { readonly scope: 'shared' };

export interface SecretEntry {
  readonly name: string;
  readonly scope: 'tenant' | 'shared';
  readonly key_id: string | null;
  /** Whether the present key opens it. */
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
  readonly rotate: (options?: { readonly onProgress?: (progress: string) => void }) => Promise<RotateReport>;
}

const scope = { tenantId: tenantIdField.optional(), shared: z.boolean().optional() };
const isOneScope = ({ tenantId, shared }: Scope): boolean => (tenantId === undefined) === (shared === true);
const ONE_SCOPE = 'needs either tenantId or shared';
const SHAPES = {
  scope: strictObject(scope).refine(isOneScope, ONE_SCOPE),
  named: strictObject({ ...scope, name: z.string() }).refine(isOneScope, ONE_SCOPE),
  set: strictObject({ ...scope, name: z.string(), value: z.string() }).refine(isOneScope, ONE_SCOPE),
};

export function createSecretAdmin(store: VaultStore, sealer: Sealer | undefined): SecretAdmin {
  const needSealer = (): Sealer => {
    if (sealer === undefined) throw new RuntimeError('VAULT_KEY_MISSING');
    return sealer;
  };
  return {
    set: async (input) => {
      const { tenantId, name, value } = readInput(SHAPES.set, input, 'vault set');
      checkName(name);
      if (value.trim() === '') throw new RuntimeError('VAULT_SECRET_INVALID', { reason: 'it is empty' });
      const { seal, keyId } = needSealer();
      const sealed = seal(value, secretOwner(tenantId, name));
      if (!(await store.set({ tenantId, name, sealed }))) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
      return { ...shown(tenantId), name, key_id: keyId };
    },
    list: async (input) => {
      const { tenantId } = readInput(SHAPES.scope, input, 'vault list');
      const opener = needSealer();
      const rows = await store.list(tenantId);
      const secrets = rows.map(({ tenant_id: owner, name, sealed, updated_at }): SecretEntry => ({
        name,
        scope: owner === null ? 'shared' : 'tenant',
        key_id: sealingKeyId(sealed) ?? null,
        is_readable: canOpen(opener, sealed, secretOwner(owner ?? undefined, name)),
        updated_at,
      }));
      return { ...shown(tenantId), secrets };
    },
    delete: async (input) => {
      const { tenantId, name } = readInput(SHAPES.named, input, 'vault remove');
      checkName(name);
      if (!(await store.remove(tenantId, name))) {
        const whose = tenantId === undefined ? 'that is shared' : `of tenant ${tenantId}`;
        throw new RuntimeError('VAULT_SECRET_UNKNOWN', { name, scope: whose });
      }
      return { ...shown(tenantId), name, removed: true };
    },
    rotate: async ({ onProgress = () => undefined } = {}) => rotateVault({ store, sealer: needSealer(), onProgress }),
  };
}

/** The text itself is not shown: it may be the secret, in the wrong place. */
function checkName(name: string): void {
  if (SECRET_NAME.test(name)) return;
  throw new RuntimeError('VAULT_SECRET_INVALID', { reason: 'its name must match [A-Za-z0-9._-]{1,100}' });
}

function shown(tenantId: string | undefined): ScopeShown {
  return tenantId === undefined ? { scope: 'shared' } : { tenant_id: tenantId };
}
