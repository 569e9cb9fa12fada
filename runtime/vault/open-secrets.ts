import type { SealedSecret, TenantSnapshot, TenantStore, ToolRow } from '../contracts/tenant';
import type { McpServerRow } from '../contracts/tools/mcp';
import { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { ExactInteger } from '../util/exact-integer';
import { isJsonObject, type JsonObject } from '../util/json';
import { plainInAuth, plainInCustomConfig, plainText } from './find-plaintext';
import { type Resolve, resolveObject, resolveText, SecretFailure, type SecretReference } from './references';
import type { Sealer } from './sealer';
import { SECRET_NAME, secretOwner } from './secret-owner';

/**
 * A store whose rows hold secrets instead of their names. A row whose secrets cannot be opened says why, and is
 * otherwise left as it was. While the rows and their secrets are the same objects, nothing is opened again.
 */
export function withVault(store: TenantStore, sealer: Sealer | undefined): TenantStore {
  const opened = new WeakMap<TenantSnapshot, TenantSnapshot>();
  const openTools = rememberRows(openTool);
  const openServers = rememberRows(openServer);
  const openAll = (snapshot: TenantSnapshot): TenantSnapshot => {
    const tools = openTools(snapshot.tools, snapshot, sealer);
    const servers = snapshot.servers && openServers(snapshot.servers, snapshot, sealer);
    const openedSecrets = [...new Set([...tools.secrets, ...(servers?.secrets ?? []), ...plainSecrets(snapshot)])];
    return { ...snapshot, tools: tools.rows, ...(servers && { servers: servers.rows }), openedSecrets };
  };
  return {
    load: async (request) => {
      const snapshot = await store.load(request);
      const known = opened.get(snapshot) ?? openAll(snapshot);
      opened.set(snapshot, known);
      return known;
    },
  };
}

/** What stands in the rows themselves is as secret as what the vault holds. */
function plainSecrets({ tools, servers = [] }: TenantSnapshot): readonly string[] {
  const ofTools = tools.flatMap(({ authHeader, customConfig }) => [
    ...plainText(authHeader ?? ''),
    ...plainInCustomConfig(customConfig),
  ]);
  const ofServers = servers.flatMap(({ auth }) => plainInAuth(auth));
  return [...ofTools, ...ofServers].map(({ value }) => value);
}

interface OpenedRows<Row> {
  readonly rows: readonly Row[];
  readonly secrets: readonly string[];
}

type OpenRow<Row> = (row: Row, lookUp: LookUp) => { readonly row: Row; readonly secrets: readonly string[] };

/** Another snapshot may hold the rows of the one before; but rows that several tenants share are opened for each. */
function rememberRows<Row extends object>(
  openRow: OpenRow<Row>,
): (rows: readonly Row[], snapshot: TenantSnapshot, sealer: Sealer | undefined) => OpenedRows<Row> {
  const remembered = new WeakMap<readonly Row[], { readonly source: SecretSource; readonly opened: OpenedRows<Row> }>();
  return (rows, { tenant, sealedSecrets = [], channels = {} }, sealer) => {
    const source: SecretSource = { tenantId: tenant.id, sealedSecrets, channels };
    const before = remembered.get(rows);
    if (before !== undefined && isSameSource(before.source, source)) return before.opened;
    const lookUp = createLookUp(source, sealer);
    const all = rows.map((row) => openRow(row, lookUp));
    const isUnchanged = all.every(({ row }, index) => row === rows[index]);
    const opened = { rows: isUnchanged ? rows : all.map(({ row }) => row), secrets: all.flatMap((one) => one.secrets) };
    remembered.set(rows, { source, opened });
    return opened;
  };
}

/** Where the values of a tenant's references come from. */
interface SecretSource {
  readonly tenantId: string;
  readonly sealedSecrets: readonly SealedSecret[];
  readonly channels: JsonObject;
}

function isSameSource(before: SecretSource, now: SecretSource): boolean {
  const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);
  return (
    before.tenantId === now.tenantId &&
    isSame(before.sealedSecrets, now.sealedSecrets) &&
    isSame(before.channels, now.channels)
  );
}

/** The value that a reference stands for. Throws a SecretFailure. */
type LookUp = (reference: SecretReference) => string;

function createLookUp({ tenantId, sealedSecrets, channels }: SecretSource, sealer?: Sealer): LookUp {
  const opened = new Map<string, string>();
  return ({ kind, name }) => {
    if (kind === 'channel') return channelCredential(name, channels);
    if (!SECRET_NAME.test(name)) {
      throw new SecretFailure('it names a secret by something that is no name; write vault: and [A-Za-z0-9._-]{1,100}');
    }
    const known = opened.get(name);
    if (known !== undefined) return known;
    const value = openSecret({ name, tenantId, secrets: sealedSecrets, sealer });
    opened.set(name, value);
    return value;
  };
}

function openSecret(request: {
  readonly name: string;
  readonly tenantId: string;
  readonly secrets: readonly SealedSecret[];
  readonly sealer: Sealer | undefined;
}): string {
  const { name, tenantId, secrets, sealer } = request;
  const reference = `vault:${name}`;
  const named = secrets.filter((secret) => secret.name === name);
  // The tenant's own one counts also when it cannot be opened: another credential would be somebody else's.
  const found = named.find(({ isShared }) => !isShared) ?? named[0];
  if (sealer === undefined) throw vaultFailure(reference, new RuntimeError('VAULT_KEY_MISSING'));
  if (found === undefined) {
    const unknown = new RuntimeError('VAULT_SECRET_UNKNOWN', { name, scope: 'for the tenant' });
    throw vaultFailure(reference, unknown, 'the vault has no secret of this name for the tenant');
  }
  const value = tryOpen(reference, () =>
    sealer.open(found.sealed, secretOwner(found.isShared ? undefined : tenantId, name)),
  );
  if (value === '') throw failure(reference, 'the secret is empty');
  return value;
}

function tryOpen(reference: string, open: () => string): string {
  try {
    return open();
  } catch (error) {
    throw vaultFailure(reference, toRuntimeError(error));
  }
}

function channelCredential(name: string, channels: JsonObject): string {
  const dot = name.indexOf('.');
  const [code, key] = [name.slice(0, dot), name.slice(dot + 1)];
  const keys = channels[code];
  // What every object has is no text.
  const value = isJsonObject(keys) ? keys[key] : undefined;
  if ((typeof value === 'string' && value !== '') || typeof value === 'number') return String(value);
  if ((value as unknown) instanceof ExactInteger) return JSON.stringify(value);
  throw failure(`channel:${name}`, 'no active channel account of the tenant has this credential');
}

/** The sentence becomes the reason of a warning, which ends it itself. */
function failure(reference: string, sentence: string): SecretFailure {
  return new SecretFailure(`${reference}: ${sentence.replace(/\.$/, '')}`);
}

function vaultFailure(reference: string, error: RuntimeError, sentence = error.message): SecretFailure {
  return new SecretFailure(failure(reference, sentence).message, error);
}

function openTool(row: ToolRow, lookUp: LookUp): ReturnType<OpenRow<ToolRow>> {
  return openOne(row, lookUp, (resolve, resolveVault) => {
    // The description goes to the model.
    const { description, ...rest } = row.customConfig;
    const config = resolveObject(rest, resolve);
    const transportConfig = resolveObject(row.transportConfig, resolve);
    const authHeader = row.authHeader === null ? null : resolveText(row.authHeader, resolveVault);
    if (config === rest && transportConfig === row.transportConfig && authHeader === row.authHeader) return row;
    const customConfig = description === undefined ? config : { ...config, description };
    return { ...row, customConfig, transportConfig, authHeader };
  });
}

function openServer(row: McpServerRow, lookUp: LookUp): ReturnType<OpenRow<McpServerRow>> {
  return openOne(row, lookUp, (_resolve, resolveVault) => {
    const auth = resolveObject(row.auth, resolveVault);
    return auth === row.auth ? row : { ...row, auth };
  });
}

/** Rows that name nothing keep their identity; one that names what cannot be opened keeps its names. */
function openOne<Row extends ToolRow | McpServerRow>(
  row: Row,
  lookUp: LookUp,
  open: (resolve: Resolve, resolveVault: Resolve) => Row,
): { readonly row: Row; readonly secrets: readonly string[] } {
  const secrets = new Set<string>();
  const resolve: Resolve = (reference) => {
    const value = lookUp(reference);
    secrets.add(value);
    return value;
  };
  const resolveVault: Resolve = (reference) => {
    if (reference.kind === 'vault') return resolve(reference);
    throw failure(
      `channel:${reference.name}`,
      'channel credentials may stand in custom_config and transport_config only',
    );
  };
  try {
    const opened = open(resolve, resolveVault);
    if (opened === row) return { row, secrets: [] };
    return { row: { ...opened, ...('code' in row ? { secrets: [...secrets] } : {}) }, secrets: [...secrets] };
  } catch (error) {
    if (error instanceof SecretFailure) {
      return { row: { ...row, secretFailure: error.message, vaultError: error.ofVault }, secrets: [] };
    }
    throw error;
  }
}
