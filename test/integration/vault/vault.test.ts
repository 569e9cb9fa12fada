import '../../support/setup/errors-of-node';

import crypto from 'node:crypto';

import { createRuntime, type Runtime } from '../../../runtime';
import { createMemoryLedger } from '../../../runtime/testing';
import type { JsonObject } from '../../../runtime/util/json';
import { createSealer } from '../../../runtime/vault/sealer';
import { addMcpServer, addTenant, enableTool, useMcpServer } from '../../support/servers/database';
import { sendJson, startServer } from '../../support/servers/http-server';
import { textReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { aTask, failureOf } from '../../support/values/agent-fixture';
import { memoryTenants, TENANT_ID, toolRow } from '../../support/values/memory-stores';
import { aVaultKey, onVault, vaultWorld } from '../../support/worlds/vault';

const SECRET = 'CANARY-secret/1==';
const world = vaultWorld();
const { key, fixture, hook, mcp, aRuntime, set, setOwn, run, giveHook, giveServer, sent } = world;
let tenantId: string;
let code: string;

beforeEach(() => {
  tenantId = world.tenantId();
  code = world.code();
});

/** The run goes on without the tool, which is not called, and tells the reference and the reason. */
async function expectSkipped(runtime: Runtime, reasons: readonly string[], warning = 'TOOL_SKIPPED'): Promise<void> {
  const before = [hook().requests.length, mcp().messages.length];
  const result = await run(runtime, warning === 'TOOL_SKIPPED' ? code : `${code}_stock`);
  expect(result.warnings).toMatchObject([{ code: warning }]);
  for (const reason of reasons) expect(result.warnings[0]?.message).toContain(reason);
  expect(result.result.tool_calls[0]).toMatchObject({ error: { code: 'TOOL_NOT_FOUND' } });
  expect([hook().requests.length, mcp().messages.length]).toEqual(before);
  expect(JSON.stringify(result)).not.toContain('CANARY');
}

describe('a tool', () => {
  it('is sent the secrets that its rows name, and cannot send them back', async () => {
    await setOwn('crm', SECRET);
    await setOwn('crm.key', 'CANARY-key-2');
    await giveHook({
      authHeader: 'Bearer vault:crm',
      customConfig: { headers: { 'X-Api-Key': 'vault:crm.key', 'X-Plain': 'plain' } },
    });
    const result = await run(aRuntime());
    expect(sent()).toMatchObject({
      authorization: `Bearer ${SECRET}`,
      'x-api-key': 'CANARY-key-2',
      'x-plain': 'plain',
    });
    expect(JSON.stringify(result.result.tool_calls)).toContain('[redacted]');
    expect(JSON.stringify([result, fixture().models.requests.at(-1)])).not.toContain('CANARY');
  });

  it("is sent the tenant's own credentials of a channel, those of the active account", async () => {
    await fixture().database.query(`INSERT INTO elo_channels (id, code) VALUES (1, 'telegram') ON CONFLICT DO NOTHING`);
    const account = (active: boolean, token: string): Promise<unknown> =>
      fixture().database.query(
        `INSERT INTO elo_t_channel_accounts (tenant_id, channel_id, account_id, credentials, is_active)
         VALUES ($1, 1, 'bot-7', $2, $3)`,
        [tenantId, JSON.stringify({ token }), active],
      );
    await account(false, 'CANARY-old');
    await account(true, 'CANARY-token');
    await giveHook({
      customConfig: {
        auth_header: 'Bearer channel:telegram.token',
        headers: { 'X-Bot': 'channel:telegram.account_id' },
      },
    });
    // Channels need no vault key.
    const result = await run(aRuntime(''));
    expect(sent()).toMatchObject({ authorization: 'Bearer CANARY-token', 'x-bot': 'bot-7' });
    expect(JSON.stringify(result)).not.toContain('CANARY');
  });

  it("is sent the tenant's own secret in place of the shared one of this name, which others still get", async () => {
    const other = await addTenant(fixture().database);
    await set({ name: 'crm', value: 'of-all-tenants' });
    await setOwn('crm', 'of-this-tenant');
    const toolId = await giveHook({ authHeader: 'vault:crm' });
    await enableTool(fixture().database, { tenantId: other, toolId });
    const runtime = aRuntime();
    await run(runtime);
    expect(sent().authorization).toBe('of-this-tenant');
    await run(runtime, code, other);
    expect(sent().authorization).toBe('of-all-tenants');
  });

  it('is not offered without a vault key, with another one, or without its secret', async () => {
    await setOwn('crm', SECRET);
    await giveHook({ authHeader: 'Bearer vault:crm' });
    await expectSkipped(aRuntime(''), ['vault:crm', 'there is no vault key']);
    const other = aVaultKey();
    const words = `A secret cannot be opened with the vault key ${createSealer(other).keyId}: it was sealed with another key`;
    await expectSkipped(aRuntime(other), [`vault:crm: ${words}`]);
    await fixture().database.query('DELETE FROM elo_agent_secrets');
    await expectSkipped(aRuntime(), ['vault:crm', 'no secret of this name']);
  });

  it.each([
    ['another key', aVaultKey(), 'VAULT_KEY_WRONG', 'Provide the key that it was sealed with'],
    ['no key', '', 'VAULT_KEY_MISSING', 'AGENT_VAULT_KEY'],
  ])('is named by tool list and tool execute with the code of the vault, with %s', async (_what, vaultKey, ...told) => {
    const [vaultCode, hint] = told;
    await setOwn('crm', SECRET);
    await giveHook({ authHeader: 'Bearer vault:crm' });
    const server = await giveServer({ kind: 'bearer', token: 'vault:crm' });
    const { tools } = aRuntime(vaultKey);
    const { warnings } = await tools.list({ tenantId });
    expect(warnings.filter((warning) => warning.code === vaultCode)).toMatchObject([{ hint: containing(hint) }]);
    expect(warnings).toContainEqual(expect.objectContaining({ code: 'TOOL_SKIPPED', message: containing(code) }));
    for (const tool of [code, server]) {
      const error = await failureOf(tools.call({ tenantId, tool, arguments: {} }));
      expect(error).toMatchObject({ code: vaultCode, hint: containing(hint) });
    }
  });

  it('is not offered when its secret was copied from another tenant, made shared, or renamed', async () => {
    const other = await addTenant(fixture().database);
    await set({ tenantId: other, name: 'crm', value: SECRET });
    await giveHook({ authHeader: 'vault:crm' });
    const place = (values: string): Promise<unknown> =>
      fixture().database.query(
        `INSERT INTO elo_agent_secrets (tenant_id, name, sealed) SELECT ${values} FROM elo_agent_secrets`,
      );
    await place(`'${tenantId}', 'crm', sealed`);
    await expectSkipped(aRuntime(), ['vault:crm', 'for another owner']);
    await fixture().database.query('UPDATE elo_agent_secrets SET tenant_id = NULL WHERE tenant_id = $1', [tenantId]);
    await expectSkipped(aRuntime(), ['vault:crm', 'for another owner']);
    await fixture().database.query('DELETE FROM elo_agent_secrets');
    await setOwn('other', SECRET);
    await fixture().database.query(`UPDATE elo_agent_secrets SET name = 'crm'`);
    await expectSkipped(aRuntime(), ['vault:crm', 'for another owner']);
  });

  it('is left out from the next run on when its secret is removed, and is back with the next secret', async () => {
    await setOwn('crm', 'first-value');
    await giveHook({ authHeader: 'vault:crm' });
    const runtime = aRuntime();
    expect((await run(runtime)).warnings).toEqual([]);
    await onVault(fixture().database, (store) => store.remove(tenantId, 'crm'));
    await expectSkipped(runtime, ['vault:crm']);
    await setOwn('crm', 'second-value');
    expect((await run(runtime)).warnings).toEqual([]);
    expect(sent().authorization).toBe('second-value');
  });

  it('with plain text in its row works as before, with and without a vault', async () => {
    await giveHook({ authHeader: 'Bearer plain-token', customConfig: { headers: { 'X-Key': 'plain-key' } } });
    for (const vaultKey of [key, '']) {
      expect((await run(aRuntime(vaultKey))).warnings).toEqual([]);
      expect(sent()).toMatchObject({ authorization: 'Bearer plain-token', 'x-key': 'plain-key' });
    }
  });

  it('of a store that is plugged in gets its secrets too', async () => {
    const sealed = createSealer(key).seal(SECRET, `secret/${TENANT_ID}/crm`);
    const row = toolRow({ code, endpoint: hook().url, authHeader: 'Bearer vault:crm' });
    const tenants = memoryTenants([row], { sealedSecrets: [{ name: 'crm', isShared: false, sealed }] });
    const { models } = fixture();
    const config = { model: { apiKey: 'sk-test-key', baseUrl: models.url }, vaultKey: key };
    const runtime = createRuntime({ ...config, plugins: { tenants, ledger: createMemoryLedger() } });
    await run(runtime, code, TENANT_ID);
    await runtime.close();
    expect(sent().authorization).toBe(`Bearer ${SECRET}`);
  });
});

describe('an MCP server', () => {
  const lastToken = (): unknown => mcp().calls.at(-1)?.headers.authorization;

  it('is sent the secret that its credential names, and cannot send it back', async () => {
    await setOwn('shop', SECRET);
    const tool = await giveServer({ kind: 'bearer', token: 'vault:shop' });
    const result = await run(aRuntime(), tool);
    expect(result.warnings).toEqual([]);
    expect(lastToken()).toBe(`Bearer ${SECRET}`);
    expect(result.result.tool_calls[0]?.result).toContain('7 parts');
    expect(JSON.stringify([result, fixture().models.requests.at(-1)])).not.toContain('CANARY');
  });

  it('may have the name in a header, after a scheme, and shared by all tenants', async () => {
    await set({ name: 'shop', value: SECRET });
    const tool = await giveServer(undefined, { kind: 'headers', headers: { Authorization: 'Bearer vault:shop' } });
    const result = await run(aRuntime(), tool);
    expect(lastToken()).toBe(`Bearer ${SECRET}`);
    expect(JSON.stringify(result)).not.toContain('CANARY');
  });

  it('is not asked without a vault key, with another one, or without its secret', async () => {
    await setOwn('shop', SECRET);
    await giveServer({ kind: 'bearer', token: 'vault:shop' });
    await expectSkipped(aRuntime(''), ['vault:shop', 'there is no vault key'], 'MCP_SERVER_INVALID');
    await expectSkipped(aRuntime(aVaultKey()), ['vault:shop', 'with another key'], 'MCP_SERVER_INVALID');
    await fixture().database.query('DELETE FROM elo_agent_secrets');
    await expectSkipped(aRuntime(), ['vault:shop', 'no secret of this name'], 'MCP_SERVER_INVALID');
  });

  it('gets another connection when the secret changes', async () => {
    await setOwn('shop', 'first-value');
    const tool = await giveServer({ kind: 'bearer', token: 'vault:shop' });
    const runtime = aRuntime();
    await run(runtime, tool);
    await setOwn('shop', 'second-value');
    await run(runtime, tool);
    expect(lastToken()).toBe('Bearer second-value');
  });

  it('of a workflow has no vault: the name is not sent', async () => {
    await setOwn('shop', SECRET);
    const before = mcp().messages.length;
    const given: readonly JsonObject[] = [
      { kind: 'bearer', token: 'vault:shop' },
      { kind: 'headers', headers: { authorization: 'Bearer vault:shop' } },
    ];
    for (const auth of given) {
      fixture().models.script(textReply('Done'));
      const result = await aRuntime().run(aTask(tenantId), { mcpServers: [{ name: 'given', url: mcp().url, auth }] });
      expect(result.warnings).toMatchObject([
        { code: 'MCP_SERVER_INVALID', message: containing('names a vault secret') },
      ]);
    }
    expect(mcp().messages.length).toBe(before);
  });

  it('with OAuth has its client secret opened', async () => {
    const login = await startServer((request, response) => {
      const origin = `http://${String(request.headers.host)}`;
      if (request.path.startsWith('/.well-known/oauth-protected-resource')) {
        return sendJson(response, { resource: `${origin}/mcp`, authorization_servers: [origin] });
      }
      if (request.path.startsWith('/.well-known/')) {
        return sendJson(response, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          response_types_supported: ['code'],
          grant_types_supported: ['client_credentials'],
          token_endpoint_auth_methods_supported: ['client_secret_post'],
        });
      }
      if (request.path === '/token') return sendJson(response, { access_token: 'access-1', token_type: 'Bearer' });
      sendJson(response, {}, request.headers.authorization === undefined ? 401 : 404);
    });
    await setOwn('client', 'CANARY-client-secret');
    const auth = {
      kind: 'oauth',
      grant: 'client_credentials',
      client_id: 'we',
      client_secret: 'vault:client',
      issuer: login.url,
    };
    await giveServer(auth, undefined, `${login.url}/mcp`);
    const { warnings } = await run(aRuntime(), code);
    const asked = login.requests.find(({ path }) => path === '/token');
    await login.close();
    expect(new URLSearchParams(asked?.body).get('client_secret')).toBe('CANARY-client-secret');
    expect(JSON.stringify(warnings)).not.toContain('CANARY');
  });
});

it('a warm run opens nothing', async () => {
  await setOwn('crm', SECRET);
  await setOwn('shop', SECRET);
  await giveHook({ authHeader: 'vault:crm' });
  const serverId = await addMcpServer(fixture().database, { code: `${code}s`, url: mcp().url });
  await useMcpServer(fixture().database, { tenantId, serverId, auth: { kind: 'bearer', token: 'vault:shop' } });
  const runtime = aRuntime();
  const decipher = jest.spyOn(crypto, 'createDecipheriv');
  try {
    await run(runtime);
    // The list of the server's tools is new in the database.
    await run(runtime);
    const opened = decipher.mock.calls.length;
    expect(opened).toBeGreaterThan(0);
    await run(runtime);
    await run(runtime);
    expect(decipher.mock.calls.length).toBe(opened);
  } finally {
    decipher.mockRestore();
  }
});
