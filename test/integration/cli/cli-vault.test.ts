import { createSealer } from '../../../runtime/vault/sealer';
import { addMcpServer, addTenant, giveTool, useMcpServer } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, startAgentFixture } from '../../support/values/agent-fixture';
import { type CliOutcome, errorLine, runCli } from '../../support/worlds/cli';
import { aVaultKey, dumpDatabase, linesWith, setSecret } from '../../support/worlds/vault';

const KEY = aVaultKey();
let fixture: AgentFixture;
let hook: TestServer;
let tenantId: string;

beforeAll(async () => {
  fixture = await startAgentFixture();
  hook = await startServer((_request, response) => sendJson(response, { done: true }));
});
beforeEach(async () => {
  tenantId = await addTenant(fixture.database);
});
afterEach(async () => {
  for (const table of ['elo_agent_secrets', 'elo_agent_mcp_servers', 'elo_agent_tools']) {
    await fixture.database.query(`DELETE FROM ${table}`);
  }
});
afterAll(() => Promise.all([fixture.close(), hook.close()]));

interface Given {
  readonly input?: string;
  readonly key?: string;
}

async function vault(args: readonly string[], { input, key = KEY }: Given = {}): Promise<CliOutcome> {
  const env = { DATABASE_URL: fixture.database.url, ...(key === '' ? {} : { AGENT_VAULT_KEY: key }) };
  const outcome = await runCli(args, { env, input });
  expect(outcome.stdout + outcome.stderr).not.toContain('CANARY');
  return outcome;
}

async function jsonOf(args: readonly string[], given?: Given): Promise<unknown> {
  const outcome = await vault(args, given);
  expect(outcome.exitCode === 0 ? 0 : outcome).toBe(0);
  return JSON.parse(outcome.stdout);
}

const ofTenant = (): string[] => ['--tenant', tenantId];

interface SetOptions extends Given {
  readonly scope?: readonly string[];
}

const set = (name: string, value: string, { scope = ofTenant(), ...given }: SetOptions = {}): Promise<CliOutcome> =>
  vault(['secret', 'set', ...scope, name], { ...given, input: value });

it('stores a secret from standard input without the last line end, and tools are called with it', async () => {
  const code = 'find';
  await giveTool(fixture.database, tenantId, { code, endpoint: hook.url, authHeader: 'Bearer vault:crm' });
  // As somebody may copy it; sealed for the tenant all the same.
  expect(await set('crm', 'CANARY-1 \n', { scope: ['--tenant', tenantId.toUpperCase()] })).toMatchObject({
    exitCode: 0,
    stderr: '',
  });
  await jsonOf(['tool', 'execute', code, ...ofTenant()]);
  expect(hook.requests.at(-1)?.headers.authorization).toBe('Bearer CANARY-1');
  await set('crm', 'CANARY-2\r\n');
  await jsonOf(['tool', 'execute', code, ...ofTenant()]);
  expect(hook.requests.at(-1)?.headers.authorization).toBe('Bearer CANARY-2');
  const refused = await vault(['tool', 'execute', code, ...ofTenant()], { key: aVaultKey() });
  expect(refused.exitCode).toBe(1);
  const dump = await dumpDatabase(fixture.database);
  expect(linesWith('CANARY', dump)).toEqual([]);
});

it('lists the names of a tenant and the shared ones, and which of them the key opens', async () => {
  await set('own', 'CANARY-1');
  await set('all', 'CANARY-2', { scope: ['--shared'] });
  const other = aVaultKey();
  await set('lost', 'CANARY-3', { key: other });
  const somebody = await addTenant(fixture.database);
  await set('theirs', 'CANARY-4', { scope: ['--tenant', somebody] });
  const [id, otherId] = [createSealer(KEY).keyId, createSealer(other).keyId];
  const updated_at = expect.any(String) as string;
  const all = { name: 'all', scope: 'shared', key_id: id, is_readable: true, updated_at };
  expect(await jsonOf(['secret', 'list', ...ofTenant()])).toEqual({
    tenant_id: tenantId,
    secrets: [
      all,
      { name: 'lost', scope: 'tenant', key_id: otherId, is_readable: false, updated_at },
      { name: 'own', scope: 'tenant', key_id: id, is_readable: true, updated_at },
    ],
  });
  expect(await jsonOf(['secret', 'list', '--shared'])).toEqual({ scope: 'shared', secrets: [all] });
});

it.each<[string, string[], Given, string]>([
  ['an empty secret', ['--shared', 'a'], { input: '\n' }, 'VAULT_SECRET_INVALID'],
  ['a name that is too long', ['--shared', 'a'.repeat(101)], { input: 'x' }, 'VAULT_SECRET_INVALID'],
  [
    'a tenant that is not there',
    ['--tenant', '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f', 'a'],
    { input: 'x' },
    'TENANT_NOT_FOUND',
  ],
  ['a tenant of a name that nobody has', ['--tenant', '7', 'a'], { input: 'x' }, 'TENANT_NOT_FOUND'],
  ['no key', ['--shared', 'a'], { input: 'x', key: '' }, 'VAULT_KEY_MISSING'],
  [
    '31 bytes as a key',
    ['--shared', 'a'],
    { input: 'x', key: Buffer.alloc(31).toString('base64') },
    'VAULT_KEY_INVALID',
  ],
])('refuses %s', async (...[, args, given, code]) => {
  const outcome = await vault(['secret', 'set', ...args], given);
  expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
  expect(errorLine(outcome).code).toBe(code);
  expect(await fixture.database.query('SELECT * FROM elo_agent_secrets')).toEqual([]);
});

it.each([
  [['secret', 'constructor']],
  [['secret', 'set', 'CRM', 'sk-value', '--shared']],
  [['secret', 'set', 'CRM', '--value', 'sk-value', '--shared']],
  [['secret', 'set', '--shared']],
])('%j is wrong use', async (args) => {
  expect(await vault(args)).toMatchObject({ exitCode: 2, stdout: '' });
});

it('rotates to the first key, tells how far it is, and may be repeated', async () => {
  await set('crm', 'CANARY-1');
  await set('all', 'CANARY-2', { scope: ['--shared'] });
  const fresh = aVaultKey();
  const both = `${fresh},${KEY}`;
  const outcome = await vault(['secret', 'rotate'], { key: both });
  expect(outcome).toMatchObject({ exitCode: 0, stderr: '2 of 2\n' });
  const key_id = createSealer(fresh).keyId;
  expect(JSON.parse(outcome.stdout)).toEqual({ key_id, resealed: 2, current: 0, unreadable: [], changed: [] });
  expect(await jsonOf(['secret', 'rotate'], { key: fresh })).toMatchObject({ resealed: 0, current: 2 });
  expect(await jsonOf(['secret', 'list', ...ofTenant()], { key: fresh })).toMatchObject({
    secrets: [{ is_readable: true }, { is_readable: true }],
  });
});

it('names what it cannot open when it rotates, and fails', async () => {
  await set('crm', 'CANARY-1');
  await setSecret(fixture.database, aVaultKey(), { tenantId, name: 'lost', value: 'CANARY-2' });
  const serverId = await addMcpServer(fixture.database, { code: 'shop', url: hook.url });
  await useMcpServer(fixture.database, { tenantId, serverId });
  await fixture.database.query(`UPDATE elo_t_tenant_mcp_servers SET oauth_state = 'v1.no.such.text'`);
  const outcome = await vault(['secret', 'rotate'], { key: `${aVaultKey()},${KEY}` });
  expect(outcome.exitCode).toBe(1);
  expect(JSON.parse(outcome.stdout)).toMatchObject({
    resealed: 1,
    hint: containing('sealed with'),
    unreadable: [
      { kind: 'secret', tenant_id: tenantId, name: 'lost' },
      { kind: 'oauth_state', tenant_id: tenantId, name: 'shop' },
    ],
  });
});

it('fails when it had to leave something, and says what', async () => {
  await giveTool(fixture.database, tenantId, { code: 'find', endpoint: hook.url, customConfig: ['CANARY'] });
  const outcome = await vault(['secret', 'encrypt']);
  expect(outcome.exitCode).toBe(1);
  expect(JSON.parse(outcome.stdout)).toMatchObject({
    moved: [],
    left: [
      {
        table: 'elo_t_tenant_tools',
        tenant_id: tenantId,
        code: 'find',
        reason: 'its custom_config is not a JSON object',
      },
    ],
  });
});
