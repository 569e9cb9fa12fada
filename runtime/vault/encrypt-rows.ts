import type { PlainAccess, PlainColumn, PlainPlace } from '../contracts/tools/vault';
import { isRuntimeError } from '../errors/runtime-error';
import { plainInAuth, plainInCustomConfig, type PlainSecret, plainText, unwrapJson, wrapJson } from './find-plaintext';
import { type Rotation, tryOpen } from './rotate-key';
import { secretOwner } from './secret-owner';

interface RowName {
  readonly table: string;
  /** Null for a row that is for every tenant. */
  readonly tenant_id: string | null;
  /** The tool or server that the row is for. */
  readonly code: string;
}

interface MovedSecret extends RowName {
  readonly field: string;
  /** What it is called in the vault now. */
  readonly name: string;
}

export interface EncryptReport {
  readonly dry_run: boolean;
  readonly moved: readonly MovedSecret[];
  /** Rows that may hold plain text and could not be changed. */
  readonly left: readonly (RowName & { readonly reason: string })[];
}

interface EncryptRequest extends Rotation {
  readonly isDryRun: boolean;
}

/** Moves secrets that stand in rows as plain text into the vault. A row is changed as a whole, with its secrets, or not. */
export async function encryptPlaintext(request: EncryptRequest): Promise<EncryptReport> {
  const moved: MovedSecret[] = [];
  const left: EncryptReport['left'][number][] = [];
  for (const place of await request.store.plainRows()) {
    const found = findSecrets(place);
    if (typeof found !== 'string' && found.secrets.length === 0) continue;
    const reason = typeof found === 'string' ? found : await moveRow(request, place, moved);
    if (reason !== undefined) left.push({ ...nameOf(place), reason });
    request.onProgress(`${nameOf(place).table} ${nameOf(place).code}: ${reason ?? 'done'}`);
  }
  return { dry_run: request.isDryRun, moved, left };
}

const REFUSED: readonly string[] = ['DB_QUERY_FAILED', 'DB_ROW_REFUSED'];

/** Gives the reason when the row was left as it was. */
async function moveRow(request: EncryptRequest, place: PlainPlace, moved: MovedSecret[]): Promise<string | undefined> {
  const ofRow: MovedSecret[] = [];
  try {
    await request.store.onPlainRow(place, async (access) => {
      ofRow.push(...(await moveSecrets(request, place.column, access)));
    });
  } catch (error) {
    // The database's own words could quote what it was sent.
    if (isRuntimeError(error) && REFUSED.includes(error.code)) return 'the database refused the change';
    throw error;
  }
  moved.push(...ofRow);
  return undefined;
}

async function moveSecrets(
  { sealer, isDryRun }: EncryptRequest,
  column: PlainColumn,
  access: PlainAccess,
): Promise<readonly MovedSecret[]> {
  const { row } = access;
  const found = findSecrets({ column, row });
  if (typeof found === 'string') return [];
  const moved: (MovedSecret & { readonly path: readonly string[] })[] = [];
  for (const { path, value } of found.secrets) {
    const secret = { tenantId: row.tenant_id ?? undefined, wanted: secretName(column, row.code, path), value };
    const name = await putIntoVault(access, secret, { sealer, isDryRun });
    const field = [column.column, ...path].join('.');
    moved.push({ ...nameOf({ column, row }), field, name, path });
  }
  if (!isDryRun && moved.length > 0) await access.replace(await withReferences(access, found, moved));
  return moved.map(({ path, ...rest }) => rest);
}

interface FoundSecrets {
  readonly secrets: readonly PlainSecret[];
  /** Undefined where the column is nothing but the secret. */
  readonly json?: { readonly text: string; readonly wraps: number };
}

/** The plain secrets of a row, or why they cannot be moved. */
function findSecrets({ column, row }: PlainPlace): FoundSecrets | string {
  const found = readColumn(column, row.content);
  if (found === undefined) return `its ${column.column} is not a JSON object`;
  return found.secrets.length > 0 && !row.has_tenant ? 'its tenant does not exist' : found;
}

function readColumn({ column }: PlainColumn, content: string): FoundSecrets | undefined {
  if (column === 'auth_header') return { secrets: plainText(content) };
  if (/^\s*(?:null)?\s*$/.test(content)) return { secrets: [] };
  const unwrapped = unwrapJson(content);
  if (unwrapped === undefined) return undefined;
  const { json, value, wraps } = unwrapped;
  return { secrets: column === 'auth' ? plainInAuth(value) : plainInCustomConfig(value), json: { text: json, wraps } };
}

async function withReferences(
  access: PlainAccess,
  { json }: FoundSecrets,
  moved: readonly { readonly name: string; readonly path: readonly string[] }[],
): Promise<string> {
  const edits = moved.map(({ name, path }) => ({ path, text: `vault:${name}` }));
  if (json === undefined) return edits.map(({ text }) => text).join('');
  return wrapJson(await access.editJson(json.text, edits), json.wraps);
}

const MAX_WANTED_CHARS = 90;

/** A tenant's secrets are called otherwise than shared ones, which they would hide from other rows of the tenant. */
function secretName({ column, parent, isTenants }: PlainColumn, code: string, path: readonly string[]): string {
  const what = `${isTenants ? 'own-' : ''}${parent === 'elo_agent_tools' ? 'tool' : 'mcp'}-${code}`;
  const name = column === 'auth_header' ? what : `${what}.${path.at(-1) ?? ''}`;
  return name.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, MAX_WANTED_CHARS);
}

/** Stores the secret and gives its name. One that is there with the same value is used again; no other is touched. */
async function putIntoVault(
  access: PlainAccess,
  {
    tenantId,
    wanted,
    value,
  }: { readonly tenantId: string | undefined; readonly wanted: string; readonly value: string },
  { sealer, isDryRun }: Pick<EncryptRequest, 'sealer' | 'isDryRun'>,
): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const name = attempt === 1 ? wanted : `${wanted}-${attempt}`;
    const owner = secretOwner(tenantId, name);
    const rows = await access.secretsNamed(name);
    const own = rows.find((row) => (row.tenant_id ?? undefined) === tenantId);
    // A shared one would be hidden by a tenant's of the same name, and the other way round.
    const inTheWay = rows.filter((row) => row !== own && (tenantId === undefined || row.tenant_id === null));
    if (own !== undefined && inTheWay.length === 0 && tryOpen(sealer, own.sealed, owner) === value) return name;
    if (own !== undefined || inTheWay.length > 0) continue;
    if (isDryRun) return name;
    if (await access.addSecret({ tenantId, name, sealed: sealer.seal(value, owner) })) return name;
  }
}

function nameOf({ column, row }: PlainPlace): RowName {
  return { table: column.table, tenant_id: row.tenant_id, code: row.code };
}
