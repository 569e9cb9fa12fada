import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import type { Postgres } from '../../storage/postgres/pool';
import { forgetLogin, listLogins, type LoginRow } from '../../storage/sql/admin/list-servers';
import type { TenantTools } from '../../toolsets/tenant-tools';
import { strictObject } from '../../util/known-keys';
import { canOpen } from '../../vault/rotate-key';
import { type Sealer, sealingKeyId } from '../../vault/sealer';
import { readInput, tenantIdField } from '../read-input';
import { checkTenant } from '../runs';

/** A tenant's login at an MCP server. No token is told. */
export interface LoginEntry {
  readonly tenant_id: string;
  readonly server: string;
  readonly url: string;
  readonly key_id: string | null;
  /** Whether the present vault key opens it. */
  readonly is_readable: boolean;
}

/** The OAuth logins of tenants. Every method rejects with ADMIN_INPUT_INVALID, TENANT_NOT_FOUND, LOGIN_UNKNOWN or a DB_ code. */
export interface OAuthLoginAdmin {
  /** Those of one tenant, or of all. */
  readonly list: (query?: { readonly tenantId?: string }) => Promise<{ readonly logins: readonly LoginEntry[] }>;
  /** Forgets the tokens here: the next call of every process has none. The provider still knows them until they expire. */
  readonly revoke: (login: {
    readonly tenantId: string;
    readonly server: string;
  }) => Promise<{ readonly server: string; readonly revoked: true }>;
}

const SHAPES = {
  list: strictObject({ tenantId: tenantIdField.optional() }),
  revoke: strictObject({ tenantId: tenantIdField, server: z.string().min(1) }),
};

interface Logins {
  readonly postgres: Postgres;
  readonly tenantTools: TenantTools;
  readonly sealer?: Sealer;
}

export function createOAuthLoginAdmin({ postgres: { query }, tenantTools, sealer }: Logins): OAuthLoginAdmin {
  return {
    list: async (input) => {
      const { tenantId } = readInput(SHAPES.list, input, 'logins list');
      if (tenantId !== undefined) await checkTenant(query, tenantId);
      const rows = await query<LoginRow>(listLogins({ tenantId }));
      return { logins: rows.map((row) => toLogin(row, sealer)) };
    },
    revoke: async (input) => {
      const given = readInput(SHAPES.revoke, input, 'logins revoke');
      await checkTenant(query, given.tenantId);
      const rows = await query(forgetLogin(given));
      if (rows.length === 0) throw new RuntimeError('LOGIN_UNKNOWN', given);
      // Those of this process need not wait until they are idle.
      await tenantTools.disconnect(given).catch(() => []);
      return { server: given.server, revoked: true };
    },
  };
}

function toLogin({ state, server_id: serverId, ...row }: LoginRow, sealer: Sealer | undefined): LoginEntry {
  const owner = `${row.tenant_id}/${serverId}`;
  return {
    ...row,
    key_id: sealingKeyId(state) ?? null,
    is_readable: sealer !== undefined && canOpen(sealer, state, owner),
  };
}
