import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { eventually } from '../support/values/agent-fixture';
import { openSocket, type Started } from './support/chats';
import { byId, type Examples, examplesIn } from './support/examples';
import {
  addModelCredential,
  addPostgresCredential,
  connect,
  ended,
  type N8n,
  type StoredExecution,
} from './support/host';

const PATH = '8e1f6a52-1c53-4b8a-9d7e-00000000000a';
const WAITS = 'This request needs an approval before I can continue.';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let hook: TestServer;
let tenant: string;
let examples: Examples;

beforeAll(async () => {
  n8n = await connect();
  [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  hook = await startServer((_request, response) => sendJson(response, { refunded: true }));
  tenant = await addTenant(database);
  await giveTool(database, tenant, { code: 'refund', endpoint: hook.url });
  examples = examplesIn(n8n, {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-approval', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
  });
});
afterAll(() => Promise.all([models.close(), hook.close(), database.close()]));

/** Resolves with the two links once the execution waits for the operator. */
async function linksOf(executionId: string): Promise<Readonly<Record<'approve' | 'deny', string>>> {
  return eventually(async () => {
    const { status, data } = (await n8n.execution(executionId)) as StoredExecution;
    const { 'Links for the Operator': links, 'Wait for the Operator': waits } = data.resultData.runData;
    const isWaiting = status === 'waiting' && waits !== undefined;
    return isWaiting ? (links?.[0].data.main[0]?.[0]?.json as Record<'approve' | 'deny', string>) : undefined;
  });
}

it.each([
  ['approve', 'Order 1001 is refunded.', 1],
  ['deny', 'I may not refund it.', 0],
] as const)(
  'chat-with-approval says that it waits, and after the link %s answers in the same chat',
  async (link, answer, calls) => {
    hook.requests.length = 0;
    models.script(toolReply([{ name: 'refund', arguments: { order: 1001 } }]), textReply(answer));
    const changes = {
      Chat: { public: true },
      'Universal AI Agent': {
        tenantId: byId(tenant),
        tier: 'pro',
        options: { outputDetails: 'always', toolPermissions: '{ "refund": { "decision": "ask" } }' },
      },
    };
    const use = async (): Promise<void> => {
      const message = { action: 'sendMessage', sessionId: `approval-${link}`, chatInput: 'Please refund order 1001.' };
      const started = (await n8n.callWebhook(`${PATH}/chat`, message)).json as Started;
      const { messages, closed } = openSocket(n8n, message.sessionId, started);
      const links = await linksOf(started.executionId);
      await eventually(() => Promise.resolve(messages.length > 0 ? true : undefined));
      expect(messages).toEqual([WAITS]);
      expect(hook.requests).toEqual([]);
      expect((await fetch(links[link])).status).toBe(200);
      await closed;
      expect(messages).toEqual([WAITS, answer]);
      expect((await ended(n8n, started.executionId)).status).toBe('success');
      expect(hook.requests).toHaveLength(calls);
    };
    await examples.whilePublished('chat-with-approval.json', { changes, use });
  },
);

it('chat-with-approval answers at once what needs no approval', async () => {
  models.script(textReply('Hello.'));
  const changes = { Chat: { public: true }, 'Universal AI Agent': { tenantId: byId(tenant), tier: 'pro' } };
  const use = async (): Promise<void> => {
    const message = { action: 'sendMessage', sessionId: 'plain', chatInput: 'Hello' };
    const started = (await n8n.callWebhook(`${PATH}/chat`, message)).json as Started;
    const { messages, closed } = openSocket(n8n, message.sessionId, started);
    await closed;
    expect(messages).toEqual(['Hello.']);
  };
  await examples.whilePublished('chat-with-approval.json', { changes, use });
});
