import '../../support/setup/errors-of-node';

import { createOAuthStores } from '../../../runtime/mcp/oauth/oauth-stores';
import { createMcpStore } from '../../../runtime/storage/postgres/mcp-store';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { encryptPlaintext } from '../../../runtime/vault/encrypt-rows';
import { rotateVault } from '../../../runtime/vault/rotate-key';
import { createSealer } from '../../../runtime/vault/sealer';
import { addMcpServer, addTenant, addTool, enableTool, useMcpServer } from '../../support/servers/database';
import { aVaultKey, dumpDatabase, linesWith, onVault, vaultWorld } from '../../support/worlds/vault';

const SECRET = 'CANARY-secret/1==';
const world = vaultWorld();
const { key, fixture, hook, mcp, aRuntime, set, setOwn, run, giveHook, sent } = world;
let tenantId: string;
let code: string;

beforeEach(() => {
  tenantId = world.tenantId();
  code = world.code();
});

describe('encrypting what stands in the rows', () => {
  const PLANTED = ['CANARY-shared', 'CANARY-own', 'CANARY-key', 'CANARY-mcp', 'CANARY-header', 'CANARY-client'];

  const encrypt = (isDryRun = false): ReturnType<typeof encryptPlaintext> =>
    onVault(fixture().database, (store) =>
      encryptPlaintext({ store, sealer: createSealer(key), isDryRun, onProgress: () => undefined }),
    );

  async function plant(): Promise<{ toolId: number; other: string }> {
    const other = await addTenant(fixture().database);
    const toolId = await addTool(fixture().database, {
      code,
      endpoint: `${hook().url}/hook`,
      authHeader: 'Bearer CANARY-shared',
    });
    const customConfig = { auth_header: 'Bearer CANARY-own', headers: { 'X-Api-Key': 'CANARY-key', 'X-Team': 'one' } };
    await enableTool(fixture().database, { tenantId, toolId, customConfig });
    await enableTool(fixture().database, { tenantId: other, toolId });
    const shared = { kind: 'headers', headers: { 'X-Shop': 'CANARY-header' } };
    const serverId = await addMcpServer(fixture().database, { code: `${code}s`, url: mcp().url, auth: shared });
    await useMcpServer(fixture().database, { tenantId, serverId, auth: { kind: 'bearer', token: 'CANARY-mcp' } });
    const oauth = { kind: 'oauth', grant: 'client_credentials', client_id: 'we', client_secret: 'CANARY-client' };
    const second = await addMcpServer(fixture().database, {
      code: `${code}o`,
      url: `${hook().url}/oauth`,
      auth: oauth,
    });
    await useMcpServer(fixture().database, { tenantId: other, serverId: second, isEnabled: false });
    return { toolId, other };
  }

  it('leaves none of it in the database, and everything works as before', async () => {
    const written: string[] = [];
    const outputs = [process.stdout, process.stderr].map((stream) =>
      jest.spyOn(stream, 'write').mockImplementation((text) => written.push(String(text)) > 0),
    );
    const { other } = await plant();
    const report = await encrypt();
    await set({ tenantId, name: 'more', value: 'CANARY-set' });
    const runtime = aRuntime();
    const results = [await run(runtime), await run(runtime, `${code}s_stock`)];
    expect(sent()).toMatchObject({ authorization: 'Bearer CANARY-own', 'x-api-key': 'CANARY-key', 'x-team': 'one' });
    expect(mcp().calls.at(-1)?.headers.authorization).toBe('Bearer CANARY-mcp');
    results.push(await run(runtime, code, other));
    expect(sent()).toMatchObject({ authorization: 'Bearer CANARY-shared' });
    for (const output of outputs) output.mockRestore();
    expect(results.map(({ warnings }) => warnings)).toEqual([[], [], []]);
    const dump = await dumpDatabase(fixture().database);
    expect(linesWith(`vault:tool-${code}`, dump)).toHaveLength(1);
    for (const value of [...PLANTED, 'CANARY-set', 'CANARY']) {
      expect(linesWith(value, dump)).toEqual([]);
      expect(JSON.stringify([report, results, written, fixture().models.requests])).not.toContain(value);
    }
  });

  it('names what it moved, and moves nothing the second time', async () => {
    await plant();
    const own = { tenant_id: tenantId };
    const all = { tenant_id: null };
    const moved = [
      { table: 'elo_agent_tools', ...all, code, field: 'auth_header', name: `tool-${code}` },
      {
        table: 'elo_t_tenant_tools',
        ...own,
        code,
        field: 'custom_config.auth_header',
        name: `own-tool-${code}.auth_header`,
      },
      {
        table: 'elo_t_tenant_tools',
        ...own,
        code,
        field: 'custom_config.headers.X-Api-Key',
        name: `own-tool-${code}.X-Api-Key`,
      },
      {
        table: 'elo_agent_mcp_servers',
        ...all,
        code: `${code}s`,
        field: 'auth.headers.X-Shop',
        name: `mcp-${code}s.X-Shop`,
      },
      {
        table: 'elo_agent_mcp_servers',
        ...all,
        code: `${code}o`,
        field: 'auth.client_secret',
        name: `mcp-${code}o.client_secret`,
      },
      {
        table: 'elo_t_tenant_mcp_servers',
        ...own,
        code: `${code}s`,
        field: 'auth.token',
        name: `own-mcp-${code}s.token`,
      },
    ];
    const before = await dumpDatabase(fixture().database);
    expect(await encrypt(true)).toEqual({ dry_run: true, moved, left: [] });
    expect((await dumpDatabase(fixture().database)) === before).toBe(true);
    expect(await encrypt()).toEqual({ dry_run: false, moved, left: [] });
    expect(await encrypt()).toEqual({ dry_run: false, moved: [], left: [] });
  });

  it('keeps everything else of a row as it was, whatever the type of the column', async () => {
    const toolId = await addTool(fixture().database, { code, endpoint: `${hook().url}/hook` });
    await enableTool(fixture().database, { tenantId, toolId });
    const fixed = '{"n": 12345678901234567890, "nested": {"auth_header": "stays"}}';
    const text = `{"fixed_arguments": ${fixed}, "auth_header": "Bearer CANARY"}`;
    for (const type of ['TEXT', 'JSON', 'JSONB']) {
      await fixture().database.query(
        `ALTER TABLE elo_t_tenant_tools ALTER COLUMN custom_config TYPE ${type} USING custom_config::${type}`,
      );
      for (const content of [text, JSON.stringify(text)]) {
        await fixture().database.query('UPDATE elo_t_tenant_tools SET custom_config = $1 WHERE tool_id = $2', [
          content,
          toolId,
        ]);
        expect((await encrypt()).moved).toMatchObject([{ field: 'custom_config.auth_header' }]);
        const [row] = await fixture().database.query<{ content: string }>(
          'SELECT custom_config::text AS content FROM elo_t_tenant_tools WHERE tool_id = $1',
          [toolId],
        );
        const inner = content === text ? row?.content : (JSON.parse(row?.content ?? '') as string);
        expect(inner).toContain('12345678901234567890');
        expect(JSON.parse(inner ?? '')).toMatchObject({
          auth_header: `vault:own-tool-${code}.auth_header`,
          fixed_arguments: { nested: { auth_header: 'stays' } },
        });
        await run(aRuntime());
        expect(sent().authorization).toBe('Bearer CANARY');
      }
    }
  });

  it('touches no secret that is there, nor one that another row would then find in its place', async () => {
    await set({ name: `tool-${code}`, value: 'kept-shared' });
    await setOwn(`tool-${code}-2`, 'kept-own');
    const toolId = await addTool(fixture().database, { code, endpoint: `${hook().url}/hook`, authHeader: 'CANARY-1' });
    await enableTool(fixture().database, { tenantId, toolId });
    expect((await encrypt()).moved).toMatchObject([{ name: `tool-${code}-3` }]);
    await run(aRuntime());
    expect(sent().authorization).toBe('CANARY-1');
    // The same value again needs no other name.
    await fixture().database.query('UPDATE elo_agent_tools SET auth_header = $1 WHERE id = $2', ['CANARY-1', toolId]);
    expect((await encrypt()).moved).toMatchObject([{ name: `tool-${code}-3` }]);
    await fixture().database.query('UPDATE elo_agent_tools SET auth_header = $1 WHERE id = $2', ['CANARY-2', toolId]);
    expect((await encrypt()).moved).toMatchObject([{ name: `tool-${code}-4` }]);
    const secrets = await onVault(fixture().database, (store) => store.list(tenantId));
    expect(secrets.map(({ name }) => name)).toEqual([`tool-${code}`, ...[2, 3, 4].map((n) => `tool-${code}-${n}`)]);
  });

  it('names what it had to leave, and moves the rest', async () => {
    await fixture().database.query('ALTER TABLE elo_t_tenant_tools ALTER COLUMN custom_config TYPE TEXT');
    const broken = await addTool(fixture().database, { code: `${code}b`, endpoint: hook().url });
    await enableTool(fixture().database, { tenantId, toolId: broken });
    await giveHook({ authHeader: 'CANARY-1' });
    const write = (content: string): Promise<unknown> =>
      fixture().database.query('UPDATE elo_t_tenant_tools SET custom_config = $1 WHERE tool_id = $2', [
        content,
        broken,
      ]);
    const row = { table: 'elo_t_tenant_tools', tenant_id: tenantId, code: `${code}b` };
    await write('{"auth_header": "CANARY-2"');
    const report = await encrypt();
    expect(report.left).toEqual([{ ...row, reason: 'its custom_config is not a JSON object' }]);
    expect(report.moved).toMatchObject([{ name: `tool-${code}` }]);
    await write('{"auth_header": "CANARY-2"}');
    const table = 'ALTER TABLE elo_t_tenant_tools';
    await fixture().database.query(`${table} ADD CONSTRAINT plain CHECK (custom_config !~ 'vault:') NOT VALID`);
    const constrained = await encrypt();
    await fixture().database.query(`${table} DROP CONSTRAINT plain`);
    expect(constrained).toMatchObject({ moved: [], left: [{ ...row, reason: 'the database refused the change' }] });
    // Half a row is never moved: Postgres knows no NUL in a text.
    await write('{"auth_header": "CANARY-2", "x": "\\u0000"}');
    const refused = await encrypt();
    expect(refused).toMatchObject({ moved: [], left: [{ ...row, reason: 'the database refused the change' }] });
    expect(await onVault(fixture().database, (store) => store.list(tenantId))).toHaveLength(1);
    expect(JSON.stringify([report, refused])).not.toContain('CANARY');
    await fixture().database.query('DELETE FROM elo_agent_tools WHERE id = $1', [broken]);
  });

  it('loses nothing that another process writes meanwhile', async () => {
    const toolId = await giveHook({ authHeader: 'CANARY-before' });
    const writer = createPostgres({ url: fixture().database.url, maxConnections: 1 });
    let encrypting: Promise<unknown> = Promise.resolve();
    await writer.transaction(async (query) => {
      await query({
        text: 'UPDATE elo_agent_tools SET auth_header = $1 WHERE id = $2',
        values: ['CANARY-after', toolId],
      });
      encrypting = encrypt();
      // It has read the row, and waits for this transaction.
      for (let waiting: readonly unknown[] = []; waiting.length === 0;) {
        waiting = await query({
          text: 'SELECT FROM pg_locks WHERE NOT granted AND locktype = $1',
          values: ['transactionid'],
        });
      }
    });
    await encrypting;
    await writer.close();
    await run(aRuntime());
    expect(sent().authorization).toBe('CANARY-after');
    expect(linesWith('CANARY', await dumpDatabase(fixture().database))).toEqual([]);
  });

  it('by two processes at once is done once', async () => {
    await plant();
    const reports = await Promise.all([encrypt(), encrypt()]);
    expect(reports.flatMap(({ moved }) => moved)).toHaveLength(6);
    expect(await onVault(fixture().database, (store) => store.allSecrets())).toHaveLength(6);
  });
});

describe('another key', () => {
  const fresh = aVaultKey();
  const rotate = (keys: string): ReturnType<typeof rotateVault> =>
    onVault(fixture().database, (store) =>
      rotateVault({ store, sealer: createSealer(keys), onProgress: () => undefined }),
    );

  it('opens everything after a rotation: secrets and OAuth state', async () => {
    await setOwn('crm', SECRET);
    await set({ name: 'all', value: 'of-all-tenants' });
    await giveHook({ authHeader: 'vault:crm', customConfig: { headers: { 'X-All': 'vault:all' } } });
    const serverId = await addMcpServer(fixture().database, { code, url: mcp().url });
    await useMcpServer(fixture().database, { tenantId, serverId });
    const postgres = createPostgres({ url: fixture().database.url, maxConnections: 1 });
    const server = { id: serverId, url: mcp().url } as never;
    const storeWith = (key: string): ReturnType<ReturnType<typeof createOAuthStores>> =>
      createOAuthStores(createMcpStore(postgres.query), createSealer(key))({ tenantId, server });
    const state = { clients: {}, tokens: { issuer: { access_token: 'CANARY' } } };
    await storeWith(key).save(state);

    expect((await run(aRuntime(`${fresh},${key}`))).warnings).toEqual([]);
    const report = { key_id: createSealer(fresh).keyId, unreadable: [], changed: [] };
    expect(await rotate(`${fresh},${key}`)).toEqual({ ...report, resealed: 3, current: 0 });
    expect(await rotate(`${fresh},${key}`)).toEqual({ ...report, resealed: 0, current: 3 });
    expect((await run(aRuntime(fresh))).warnings).toEqual([]);
    expect(sent()).toMatchObject({ authorization: SECRET, 'x-all': 'of-all-tenants' });
    expect(await storeWith(fresh).load()).toMatchObject(state);
    await expect(storeWith(key).load()).rejects.toMatchObject({ code: 'VAULT_KEY_WRONG' });
    await postgres.close();
  });

  it('that cannot open a row names it, leaves it, and goes on with the others', async () => {
    await setOwn('lost', SECRET, aVaultKey());
    await setOwn('crm', SECRET);
    const report = await rotate(`${fresh},${key}`);
    expect(report).toMatchObject({ resealed: 1, unreadable: [{ kind: 'secret', tenant_id: tenantId, name: 'lost' }] });
    // Also one that says it was sealed with this key.
    await fixture().database.query(`UPDATE elo_agent_secrets SET name = 'renamed' WHERE name = 'crm'`);
    expect((await rotate(fresh)).unreadable.map(({ name }) => name)).toEqual(['lost', 'renamed']);
  });

  it('does not undo what another process writes meanwhile', async () => {
    await setOwn('crm', 'old-value');
    const report = await onVault(fixture().database, (store) => {
      let isFirst = true;
      const racing = {
        ...store,
        reseal: async (...given: Parameters<typeof store.reseal>) => {
          if (isFirst) await setOwn('crm', 'new-value');
          isFirst = false;
          return store.reseal(...given);
        },
      };
      return rotateVault({ store: racing, sealer: createSealer(`${fresh},${key}`), onProgress: () => undefined });
    });
    expect(report).toMatchObject({ resealed: 1, changed: [], unreadable: [] });
    await giveHook({ authHeader: 'vault:crm' });
    await run(aRuntime(fresh));
    expect(sent().authorization).toBe('new-value');
  });

  it('is not given to rows that a role cannot see: that is an error, not an empty report', async () => {
    await setOwn('crm', SECRET);
    const { database } = fixture();
    await database.query('ALTER TABLE elo_agent_secrets ENABLE ROW LEVEL SECURITY');
    await database.query('ALTER TABLE elo_agent_secrets FORCE ROW LEVEL SECURITY');
    try {
      await expect(rotate(`${fresh},${key}`)).rejects.toMatchObject({ code: 'DB_PERMISSION_DENIED' });
    } finally {
      await database.query('ALTER TABLE elo_agent_secrets NO FORCE ROW LEVEL SECURITY');
    }
  });
});
