import { buffer } from 'node:stream/consumers';

import type { VaultStore } from '../../contracts/tools/vault';
import { describeError, RuntimeError } from '../../errors/runtime-error';
import { createVaultStore } from '../../storage/postgres/vault-store';
import { encryptPlaintext } from '../../vault/encrypt-rows';
import { createSealer, type Sealer } from '../../vault/sealer';
import { decodeUtf8, readTenant, UsageError } from '../arguments';
import { command, FLAG, TENANT, TEXT } from '../command';
import { readVaultKey, withAdmin, withDatabase, withToolRuntime } from '../environment';
import { printError, printJson } from '../output';
import { terminal } from '../terminal';

interface Vault {
  readonly store: VaultStore;
  readonly sealer: Sealer;
}

const SCOPE = { tenant: TENANT, shared: FLAG } as const;

/** No value is ever printed. */
export const vaultCommands = [
  command({
    words: 'vault set',
    usage: '--tenant ID|--shared --name NAME',
    help: 'Encrypt the secret on standard input; rows name it as vault:NAME.',
    options: { ...SCOPE, name: TEXT },
    run: async (options) => {
      const secret = { ...readScope(options, 'vault set'), name: readName(options, 'vault set') };
      readVaultKey();
      const value = await readSecret();
      return withAdmin((admin) => admin.secret.set({ ...secret, value }));
    },
  }),
  command({
    words: 'vault list',
    usage: '--tenant ID|--shared',
    help: 'The names of the secrets, and whether the present key opens them.',
    options: SCOPE,
    run: (options) => {
      const scope = readScope(options, 'vault list');
      return withAdmin((admin) => admin.secret.list(scope));
    },
  }),
  command({
    words: 'vault remove',
    usage: '--tenant ID|--shared --name NAME',
    help: 'Forget a secret.',
    options: { ...SCOPE, name: TEXT },
    run: (options) => {
      const secret = { ...readScope(options, 'vault remove'), name: readName(options, 'vault remove') };
      return withAdmin((admin) => admin.secret.delete(secret));
    },
  }),
  command({
    words: 'vault rotate',
    help: 'Re-encrypt everything with the first key of AGENT_VAULT_KEY.',
    run: rotate,
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

async function rotate(): Promise<number> {
  const { keyIds } = createSealer(readVaultKey());
  return withToolRuntime(async ({ admin }) => {
    const report = await admin.secret.rotate({ onProgress: tell });
    printJson(report);
    if (report.unreadable.length === 0 && report.changed.length === 0) return 0;
    if (report.unreadable.length > 0) printError(describeError('VAULT_KEY_WRONG', { keyId: keyIds }));
    return 1;
  });
}

async function encrypt({ store, sealer }: Vault, isDryRun: boolean): Promise<number> {
  const report = await encryptPlaintext({ store, sealer, isDryRun, onProgress: tell });
  printJson(report);
  return report.left.length === 0 ? 0 : 1;
}

function tell(progress: string): void {
  terminal().stderr.write(`${progress}\n`);
}

function readScope(options: Scope, command: string): { readonly tenantId?: string; readonly shared?: boolean } {
  if (options.shared !== true) {
    if (options.tenant === undefined) throw new UsageError(`${command} needs --tenant ID or --shared.`);
    return { tenantId: readTenant(options, command) };
  }
  if (options.tenant !== undefined) throw new UsageError('Give --tenant or --shared, not both.');
  return { shared: true };
}

function readName({ name }: Named, command: string): string {
  if (name === undefined) throw new UsageError(`${command} needs --name NAME.`);
  return name;
}

/** The secret on standard input, where neither the shell's history nor the list of processes shows it. */
async function readSecret(): Promise<string> {
  const invalid = (reason: string): RuntimeError => new RuntimeError('VAULT_SECRET_INVALID', { reason });
  const secret = decodeUtf8(await buffer(terminal().stdin))?.replace(/\r?\n$/, '');
  if (secret === undefined) throw invalid('standard input is not UTF-8 text');
  if (secret.trim() === '') throw invalid('standard input is empty');
  return secret;
}
