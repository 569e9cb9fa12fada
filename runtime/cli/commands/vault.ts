import { buffer } from 'node:stream/consumers';

import type { VaultStore } from '../../contracts/tools/vault';
import { describeError, RuntimeError } from '../../errors/runtime-error';
import { createVaultStore } from '../../storage/postgres/vault-store';
import { encryptPlaintext } from '../../vault/encrypt-rows';
import { canOpen, rotateVault } from '../../vault/rotate-key';
import { createSealer, type Sealer, sealingKeyId } from '../../vault/sealer';
import { SECRET_NAME, secretOwner } from '../../vault/secret-owner';
import { readTenant, UsageError } from '../arguments';
import { command, FLAG, TEXT } from '../command';
import { readVaultKey, withDatabase } from '../environment';
import { printError, printJson } from '../output';

interface Vault {
  readonly store: VaultStore;
  readonly sealer: Sealer;
}

const SCOPE = { tenant: TEXT, shared: FLAG } as const;

/** No value is ever printed. */
export const vaultCommands = [
  command({
    words: 'vault set',
    usage: '--tenant ID|--shared --name NAME',
    help: 'Encrypt the secret on standard input; rows name it as vault:NAME.',
    options: { ...SCOPE, name: TEXT },
    run: (options) => withVault((vault) => set(vault, options)),
  }),
  command({
    words: 'vault list',
    usage: '--tenant ID|--shared',
    help: 'The names of the secrets, and whether the present key opens them.',
    options: SCOPE,
    run: (options) => withVault((vault) => list(vault, options)),
  }),
  command({
    words: 'vault remove',
    usage: '--tenant ID|--shared --name NAME',
    help: 'Forget a secret.',
    options: { ...SCOPE, name: TEXT },
    run: (options) => withVault((vault) => remove(vault, options)),
  }),
  command({
    words: 'vault rotate',
    help: 'Re-encrypt everything with the first key of AGENT_VAULT_KEY.',
    run: () => withVault(rotate),
  }),
  command({
    words: 'vault encrypt',
    usage: '[--dry-run]',
    help: 'Move secrets that stand in rows as plain text into the vault.',
    options: { 'dry-run': FLAG },
    run: (options) => withVault((vault) => encrypt(vault, options['dry-run'] === true)),
  }),
];

function withVault(work: (vault: Vault) => Promise<number>): Promise<number> {
  const sealer = createSealer(readVaultKey());
  return withDatabase((postgres) => work({ store: createVaultStore(postgres), sealer }));
}

interface Scope {
  readonly tenant?: string;
  readonly shared?: boolean;
}

interface Named extends Scope {
  readonly name?: string;
}

async function set({ store, sealer }: Vault, options: Named): Promise<number> {
  const tenantId = readScope(options, 'vault set');
  const name = readName(options, 'vault set');
  const sealed = sealer.seal(await readSecret(), secretOwner(tenantId, name));
  if (!(await store.set({ tenantId, name, sealed }))) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
  printJson({ ...scopeOf(tenantId), name, key_id: sealer.keyId });
  return 0;
}

async function list({ store, sealer }: Vault, options: Scope): Promise<number> {
  const tenantId = readScope(options, 'vault list');
  const rows = await store.list(tenantId);
  const secrets = rows.map(({ tenant_id, name, sealed, updated_at }) => ({
    name,
    scope: tenant_id === null ? 'shared' : 'tenant',
    key_id: sealingKeyId(sealed) ?? null,
    is_readable: canOpen(sealer, sealed, secretOwner(tenant_id ?? undefined, name)),
    updated_at,
  }));
  printJson({ ...scopeOf(tenantId), secrets });
  return 0;
}

async function remove({ store }: Vault, options: Named): Promise<number> {
  const tenantId = readScope(options, 'vault remove');
  const name = readName(options, 'vault remove');
  if (!(await store.remove(tenantId, name))) {
    const scope = tenantId === undefined ? 'that is shared' : `of tenant ${tenantId}`;
    throw new RuntimeError('VAULT_SECRET_UNKNOWN', { name, scope });
  }
  printJson({ ...scopeOf(tenantId), name, removed: true });
  return 0;
}

async function rotate({ store, sealer }: Vault): Promise<number> {
  const report = await rotateVault({ store, sealer, onProgress: tell });
  printJson(report);
  if (report.unreadable.length === 0 && report.changed.length === 0) return 0;
  if (report.unreadable.length > 0) printError(describeError('VAULT_KEY_WRONG', { keyId: sealer.keyIds }));
  return 1;
}

async function encrypt({ store, sealer }: Vault, isDryRun: boolean): Promise<number> {
  const report = await encryptPlaintext({ store, sealer, isDryRun, onProgress: tell });
  printJson(report);
  return report.left.length === 0 ? 0 : 1;
}

function tell(progress: string): void {
  process.stderr.write(`${progress}\n`);
}

/** The tenant's id, or undefined for what is shared. */
function readScope(options: Scope, command: string): string | undefined {
  if (options.shared !== true) {
    if (options.tenant === undefined) throw new UsageError(`${command} needs --tenant ID or --shared.`);
    return readTenant(options, command);
  }
  if (options.tenant !== undefined) throw new UsageError('Give --tenant or --shared, not both.');
  return undefined;
}

function scopeOf(tenantId: string | undefined): object {
  return tenantId === undefined ? { scope: 'shared' } : { tenant_id: tenantId };
}

function readName({ name }: Named, command: string): string {
  if (name === undefined) throw new UsageError(`${command} needs --name NAME.`);
  // The text itself is not shown: it may be the secret, in the wrong place.
  if (!SECRET_NAME.test(name)) {
    throw new RuntimeError('VAULT_SECRET_INVALID', { reason: 'its name must match [A-Za-z0-9._-]{1,100}' });
  }
  return name;
}

/** The secret on standard input, where neither the shell's history nor the list of processes shows it. */
async function readSecret(): Promise<string> {
  const invalid = (reason: string): RuntimeError => new RuntimeError('VAULT_SECRET_INVALID', { reason });
  const secret = decodeUtf8(await buffer(process.stdin))?.replace(/\r?\n$/, '');
  if (secret === undefined) throw invalid('standard input is not UTF-8 text');
  if (secret.trim() === '') throw invalid('standard input is empty');
  return secret;
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
