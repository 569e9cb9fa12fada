import { randomBytes } from 'node:crypto';

import type { SealedSecret, TenantSnapshot, TenantStore, ToolRow } from '../../../runtime/contracts/tenant';
import type { McpServerRow } from '../../../runtime/contracts/tools/mcp';
import { withVault } from '../../../runtime/vault/open-secrets';
import { createSealer, type Sealer } from '../../../runtime/vault/sealer';
import { secretOwner } from '../../../runtime/vault/secret-owner';
import { containing } from '../../support/setup/matchers';
import { TENANT_ID, toolRow } from '../../support/values/memory-stores';

const sealer = createSealer(randomBytes(32).toString('base64'));
const OTHER_ID = 'aaaaaaaa-5d4a-4c6b-9e7f-0a1b2c3d4e5f';

const own = (name: string, value: string, tenantId = TENANT_ID): SealedSecret => ({
  name,
  isShared: false,
  sealed: sealer.seal(value, secretOwner(tenantId, name)),
});
const shared = (name: string, value: string): SealedSecret => ({
  name,
  isShared: true,
  sealed: sealer.seal(value, secretOwner(undefined, name)),
});

const snapshotOf = (rest: Partial<TenantSnapshot>, id = TENANT_ID): TenantSnapshot => ({
  tenant: { id, isActive: true, settings: {} },
  tiers: [],
  prices: [],
  tools: [],
  ...rest,
});

const serverRow = (auth: McpServerRow['auth']): McpServerRow => ({
  id: 1,
  name: 'shop',
  url: 'https://shop.example/mcp',
  transport: 'http',
  auth,
  excludeTools: [],
  settings: {},
  isListFresh: true,
  tools: [],
});

/** A store that gives these one after another, and the sealer's work counted. */
function open(snapshots: readonly TenantSnapshot[], using: Sealer = sealer) {
  const queue = [...snapshots];
  let opened = 0;
  const counting = {
    ...using,
    open: (...args: Parameters<Sealer['open']>) => (opened++, using.open(...args)),
  };
  const store: TenantStore = { load: () => Promise.resolve(queue.shift() as TenantSnapshot) };
  const vault = withVault(store, counting);
  return { load: () => vault.load({ tenantId: TENANT_ID, modelIds: [] }), opened: () => opened };
}

async function openTool(row: Partial<ToolRow>, rest: Partial<TenantSnapshot>, using?: Sealer): Promise<ToolRow> {
  const { tools } = await open([snapshotOf({ tools: [toolRow({ code: 'crm', ...row })], ...rest })], using).load();
  return tools[0] as ToolRow;
}

it('puts secrets into every part of a row, and lists them for redaction', async () => {
  const sealedSecrets = [own('A', 'value-a'), own('B', 'value-b'), shared('C', 'value-c')];
  const channels = { telegram: { token: 'value-d', 'bot.id': 7 } };
  const row = {
    authHeader: 'Bearer vault:A',
    customConfig: { auth_header: 'vault:B', headers: { 'X-Key': 'vault:C', 'X-Bot': 'channel:telegram.bot.id' } },
    transportConfig: { headers: { Authorization: 'Bearer channel:telegram.token' }, list: [{ deep: 'vault:A' }] },
  };
  const opened = await openTool(row, { sealedSecrets, channels });
  expect(opened).toMatchObject({
    authHeader: 'Bearer value-a',
    customConfig: { auth_header: 'value-b', headers: { 'X-Key': 'value-c', 'X-Bot': '7' } },
    transportConfig: { headers: { Authorization: 'Bearer value-d' }, list: [{ deep: 'value-a' }] },
  });
  expect([...(opened.secrets ?? [])].sort()).toEqual(['7', 'value-a', 'value-b', 'value-c', 'value-d']);
});

it('puts secrets into the auth of servers, and knows all of the tenant', async () => {
  const { servers, openedSecrets } = await open([
    snapshotOf({
      tools: [toolRow({ code: 'crm', authHeader: 'vault:A' })],
      servers: [serverRow({ kind: 'oauth', client_secret: 'vault:B', idp: { id_token: 'vault:A' } })],
      sealedSecrets: [own('A', 'value-a'), own('B', 'value-b'), own('unused', 'value-u')],
    }),
  ]).load();
  expect(servers?.[0]?.auth).toEqual({ kind: 'oauth', client_secret: 'value-b', idp: { id_token: 'value-a' } });
  expect(openedSecrets).toEqual(['value-a', 'value-b']);
});

it("prefers the tenant's own secret to the shared one, also when it cannot be opened", async () => {
  const both = [shared('A', 'of-all'), own('A', 'of-one')];
  expect(await openTool({ authHeader: 'vault:A' }, { sealedSecrets: both })).toMatchObject({ authHeader: 'of-one' });
  const copied = [shared('A', 'of-all'), own('A', 'of-other', OTHER_ID)];
  const refused = await openTool({ authHeader: 'vault:A' }, { sealedSecrets: copied });
  expect(refused).toMatchObject({ authHeader: 'vault:A', secretFailure: containing('for another owner') });
});

it('never shows the model a secret: the description is left as it is', async () => {
  const customConfig = { description: 'vault:A', auth_header: 'vault:A' };
  const opened = await openTool({ customConfig }, { sealedSecrets: [own('A', 'value-a')] });
  expect(opened.customConfig).toEqual({ description: 'vault:A', auth_header: 'value-a' });
});

describe('a row is left out, with the reference and the reason, when', () => {
  const sealedSecrets = [own('A', 'value-a')];
  const channels = { telegram: { token: 'value-d', empty: '', deep: { x: 'y' } } };

  it.each<[string, Partial<ToolRow>, string]>([
    ['there is no such secret', { authHeader: 'vault:missing' }, 'vault:missing: the vault has no secret'],
    ['a name is no name', { authHeader: 'vault:my CANARY' }, 'something that is no name'],
    ['a secret is empty', { customConfig: { headers: { a: 'vault:EMPTY' } } }, 'vault:EMPTY: the secret is empty'],
    [
      'a channel is not there',
      { customConfig: { headers: { a: 'channel:fax.token' } } },
      'channel:fax.token: no active',
    ],
    [
      'a channel has no such key',
      { transportConfig: { a: 'channel:telegram.other' } },
      'channel:telegram.other: no active',
    ],
    [
      'a key is a prototype',
      { transportConfig: { a: 'channel:telegram.constructor' } },
      'channel:telegram.constructor',
    ],
    [
      'a channel is a prototype',
      { transportConfig: { a: 'channel:__proto__.constructor' } },
      'channel:__proto__.constructor',
    ],
    [
      'a channel key is empty',
      { transportConfig: { a: 'channel:telegram.empty' } },
      'channel:telegram.empty: no active',
    ],
    [
      'a channel key is no text',
      { transportConfig: { a: 'channel:telegram.deep' } },
      'channel:telegram.deep: no active',
    ],
    [
      'a channel stands in the header of all',
      { authHeader: 'channel:telegram.token' },
      'custom_config and transport_config only',
    ],
  ])('%s', async (_what, row, reason) => {
    const secrets = [...sealedSecrets, own('EMPTY', '')];
    const opened = await openTool(row, { sealedSecrets: secrets, channels });
    expect(opened.secretFailure).toContain(reason);
    expect(opened.secretFailure).not.toContain('CANARY');
    expect(opened.secrets).toBeUndefined();
  });

  it('the key is another one, or missing', async () => {
    const other = createSealer(randomBytes(32).toString('base64'));
    const wrong = await openTool({ authHeader: 'vault:A' }, { sealedSecrets }, other);
    expect(wrong.secretFailure).toBe(
      `vault:A: A secret cannot be opened with the vault key ${other.keyId}: it was sealed with another key, for another owner, or changed`,
    );
    const vault = withVault(
      { load: () => Promise.resolve(snapshotOf({ tools: [toolRow({ code: 'crm', authHeader: 'vault:A' })] })) },
      undefined,
    );
    const { tools } = await vault.load({ tenantId: TENANT_ID, modelIds: [] });
    expect(tools[0]?.secretFailure).toContain(
      'vault:A: Secrets and OAuth tokens are encrypted, and there is no vault key',
    );
  });

  it('it was renamed, or is called shared though it is not', async () => {
    const renamed = { ...own('A', 'value-a'), name: 'B' };
    const lifted = { ...own('C', 'value-c'), isShared: true };
    for (const secret of [renamed, lifted]) {
      const opened = await openTool({ authHeader: `vault:${secret.name}` }, { sealedSecrets: [secret] });
      expect(opened.secretFailure).toContain(`vault:${secret.name}: A secret cannot be opened`);
    }
  });
});

describe('a warm run', () => {
  const tools = [toolRow({ code: 'crm', authHeader: 'vault:A' }), toolRow({ code: 'plain' })];
  const servers = [serverRow({ kind: 'bearer', token: 'vault:A' })];
  const sealedSecrets = [own('A', 'value-a')];
  const first = snapshotOf({ tools, servers, sealedSecrets });

  it('opens nothing and gives the same objects', async () => {
    const { load, opened } = open([first, first]);
    const before = await load();
    const count = opened();
    expect(count).toBeGreaterThan(0);
    expect(await load()).toBe(before);
    expect(opened()).toBe(count);
  });

  it('keeps the rows when only something else of the tenant changed', async () => {
    const { load, opened } = open([first, { ...first, tiers: [], sealedSecrets: structuredClone(sealedSecrets) }]);
    const before = await load();
    const count = opened();
    const after = await load();
    expect(after.tools).toBe(before.tools);
    expect(after.servers).toBe(before.servers);
    expect(after.openedSecrets).toEqual(before.openedSecrets);
    expect(opened()).toBe(count);
  });

  it('keeps arrays and rows that name nothing as they are', async () => {
    const { load } = open([first, snapshotOf({ tools: tools.slice(1) })]);
    expect((await load()).tools[1]).toBe(tools[1]);
    const plain = snapshotOf({ tools: tools.slice(1) });
    expect((await open([plain]).load()).tools).toBe(plain.tools);
  });

  it('sees a changed secret though the rows are the same', async () => {
    const { load } = open([first, { ...first, sealedSecrets: [own('A', 'value-new')] }]);
    expect((await load()).tools[0]?.authHeader).toBe('value-a');
    expect((await load()).tools[0]?.authHeader).toBe('value-new');
  });

  it("never gives one tenant another's secrets, though a store gives both the same rows", async () => {
    const other = snapshotOf({ tools, servers, sealedSecrets: [own('A', 'of-other', OTHER_ID)] }, OTHER_ID);
    const none = snapshotOf({ tools, servers }, OTHER_ID);
    const copied = { ...first, tenant: { ...first.tenant, id: OTHER_ID } };
    const { load } = open([first, copied, other, first, none]);
    const seen = [];
    for (let run = 0; run < 5; run++) seen.push(await load());
    const shown = seen.map((snapshot) => snapshot.tools[0]?.authHeader);
    expect(shown).toEqual(['value-a', 'vault:A', 'of-other', 'value-a', 'vault:A']);
    expect(seen.map(({ openedSecrets }) => openedSecrets)).toEqual([['value-a'], [], ['of-other'], ['value-a'], []]);
    expect(seen[1]?.tools[0]?.secretFailure).toContain('for another owner');
    expect(seen[4]?.servers?.[0]?.secretFailure).toContain('vault:A');
  });
});
