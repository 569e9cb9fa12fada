import { createRuntime, type Runtime } from '../../../runtime';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { seedTools } from '../../../runtime/storage/schema/seed-tools';
import { createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';

const KEY = 'CANARY-messenger-key';

let database: TestDatabase;
let server: TestServer;
let runtime: Runtime;
let tenantId: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  server = await startServer((_request, response) => sendJson(response, { success: true, data: { id: 7 } }));
  const postgres = createPostgres({ url: database.url, maxConnections: 1 });
  await seedTools(postgres, { update: false });
  await postgres.close();
  const vaultKey = Buffer.alloc(32, 3).toString('base64');
  runtime = createRuntime({ database: { url: database.url }, model: {}, vaultKey });
  const { tenant, secret } = runtime.admin;
  tenantId = (await tenant.create({ name: 'Acme' })).id;
  await secret.set({ tenantId, name: 'mcp_api_key', value: KEY });
  await database.query(`
    CREATE TABLE elo_channels (id INT, code TEXT);
    CREATE TABLE elo_t_channel_accounts (tenant_id UUID, channel_id INT, account_id TEXT, credentials JSONB);
    INSERT INTO elo_channels VALUES (1, 'telegram');
    INSERT INTO elo_t_channel_accounts VALUES ('${tenantId}', 1, 'bot', '{"token": "CANARY-token"}');
  `);
});
afterAll(async () => {
  await runtime.close();
  await Promise.all([database.close(), server.close()]);
});

it.each([
  [
    'mcp_telegram',
    { chat_id: '42', text: 'Hi', parse_mode: 'HTML' },
    '/api/send',
    { token: 'CANARY-token', chat_id: '42', text: 'Hi', parse_mode: 'HTML' },
  ],
  // WhatsApp calls it `to`; what is left out is not sent.
  ['mcp_whatsapp', { phone: '+4930', text: 'Hi' }, '/api/messages/send', { to: '+4930', text: 'Hi' }],
  [
    'mcp_whatsapp',
    { phone: '+4930', text: 'Hi', reply_to: 'm1' },
    '/api/messages/send',
    { to: '+4930', text: 'Hi', reply_to: 'm1' },
  ],
  ['mcp_avito', { chat_id: 'a1', text: 'Hi' }, '/api/messages/send', { chat_id: 'a1', text: 'Hi' }],
])('the row %s of the catalogue sends %j to %s as its server wants it', async (...[code, given, path, sent]) => {
  const { tool } = runtime.admin;
  await tool.enable({ tenantId, code, customConfig: { mcp_endpoint: server.url } });
  const output = await tool.execute({ tenantId, tool: code, arguments: given });
  expect(output).toEqual({ result: { success: true, data: { id: 7 } } });
  const request = server.requests.at(-1);
  expect(request).toMatchObject({ method: 'POST', path, headers: { 'x-api-key': KEY } });
  expect(JSON.parse(request?.body ?? '')).toEqual(sent);
});

it('what the schema of such a row does not take is refused before anything is sent', async () => {
  const before = server.requests.length;
  const call = { tenantId, tool: 'mcp_telegram', arguments: { chat_id: 42, text: 'Hi', parse_mode: 'Markdown' } };
  await expect(runtime.admin.tool.execute(call)).rejects.toThrow('parse_mode');
  expect(server.requests).toHaveLength(before);
});
