import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { CHAT_KINDS, type ChatKind, publishChat, type PublishedChat, readAsCustomer } from './support/chats';
import { addModelCredential, addPostgresCredential, connect, ended, lastExecutionId, type N8n } from './support/host';

const QUESTION = 'Which orders does Ada have?';
/** The tool for this one is down. */
const STOCK = 'How many bells are in stock?';
const DOWN = 'http://127.0.0.1:1/stock';
const ANSWER = 'Ada has two orders.';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let hook: TestServer;
let tenant: string;
let agent: { readonly name: string; readonly type: string; readonly [more: string]: unknown };
const published: string[] = [];

/** What only the agency may see. Nothing of it may reach the browser of a customer. */
const secrets = (): readonly string[] => [
  ...[
    'planted-prompt',
    'planted-result',
    'planted-key',
    'planted-argument',
    'planted-context',
    'find_orders',
    'check_stock',
    DOWN,
  ],
  ...['gpt-4o-mini', 'cost', 'token', 'tier', 'model', 'usage', 'run_id', 'task_id', 'trace', 'status', 'hint'],
  ...['duration', 'TOOL_', 'n8n:', tenant, hook.url],
];

beforeAll(async () => {
  n8n = await connect();
  [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  hook = await startServer((_request, response) => sendJson(response, { customer: 'Ada', margin: 'planted-result' }));
  tenant = await addTenant(database);
  await giveTool(database, tenant, { code: 'find_orders', endpoint: hook.url });
  await giveTool(database, tenant, { code: 'check_stock', endpoint: DOWN });
  agent = {
    name: 'Agent',
    type: 'n8n-nodes-universal-ai-agent.universalAiAgent',
    typeVersion: 4,
    parameters: {
      tenantId: { __rl: true, mode: 'id', value: tenant },
      tier: 'pro',
      promptType: 'auto',
      systemPrompt: 'planted-prompt',
      options: { context: '{"note":"planted-context"}' },
    },
    credentials: {
      openRouterApi: await addModelCredential(n8n, { apiKey: 'planted-key', url: models.url }),
      postgres: await addPostgresCredential(n8n, database.url),
    },
  };
});
afterAll(async () => {
  await Promise.all(published.map((id) => n8n.deactivate(id)));
  await Promise.all([models.close(), hook.close(), database.close()]);
});
beforeEach(() =>
  models.always(({ messages }) => {
    const { role, content } = messages.at(-1) ?? {};
    if (role === 'tool') return textReply(ANSWER).body;
    const name = content?.includes(STOCK) ? 'check_stock' : 'find_orders';
    return toolReply([{ name, arguments: { customer: 'planted-argument' } }]).body;
  }),
);

let count = 0;

/** Publishes a chat with our node and, behind it, the nodes of `behind`. */
async function chatOf(
  kind: ChatKind,
  {
    node = {},
    behind = [],
    options = {},
  }: { node?: object; behind?: Parameters<typeof publishChat>[1]['nodes']; options?: object } = {},
): Promise<PublishedChat> {
  const path = `b5d1f6a5-1c53-4b8a-9d7e-${String(count++).padStart(12, '0')}`;
  const chat = await publishChat(n8n, { ...kind, path, options, nodes: [{ ...agent, ...node }, ...behind] });
  published.push(chat.id);
  return chat;
}

/** What a chat of each kind gets for an answer. */
const answerTo = ({ responseMode }: ChatKind, text = ANSWER): unknown => {
  if (responseMode === 'responseNodes') return [text];
  if (responseMode !== 'streaming') return { output: text };
  return [{ type: 'begin' }, { type: 'item', content: text }, { type: 'end' }];
};

function expectNoSecrets(received: unknown): void {
  const text = JSON.stringify(received);
  expect(secrets().filter((word) => text.includes(word))).toEqual([]);
}

describe.each(CHAT_KINDS)('$mode, $responseMode', (kind) => {
  let chat: PublishedChat;
  beforeAll(async () => {
    chat = await chatOf(kind);
  });

  it('gives the customer the answer and nothing else', async () => {
    const received = await readAsCustomer(n8n, chat, QUESTION);
    expect(received).toEqual(answerTo(kind));
    expectNoSecrets(received);
  });

  it('says nothing of a tool that is down', async () => {
    const received = await readAsCustomer(n8n, chat, STOCK);
    expect(received).toEqual(answerTo(kind));
    expectNoSecrets(received);
  });
});

const EMBEDDED: ChatKind = { mode: 'webhook', responseMode: 'lastNode' };

it.each([
  ['after which an Edit Fields node runs', {}],
  ['after which a disabled node stands', { disabled: true }],
])('answers alike a chat of a node %s', async (_what, more) => {
  const edit = {
    name: 'Edit Fields',
    type: 'n8n-nodes-base.set',
    typeVersion: 3.4,
    parameters: { includeOtherFields: true, assignments: { assignments: [] }, options: {} },
    ...more,
  };
  expect(await readAsCustomer(n8n, await chatOf(EMBEDDED, { behind: [edit] }), QUESTION)).toEqual({ output: ANSWER });
});

it('puts the whole item out for a second trigger of the same workflow', async () => {
  const chat = await chatOf(EMBEDDED);
  const { nodes, connections } = (await n8n.rest('GET', `/workflows/${chat.id}`)) as {
    nodes: object[];
    connections: { Chat: object };
  };
  const parameters = { httpMethod: 'POST', path: `${chat.path}-hook`, responseMode: 'lastNode' };
  const second = { id: 'hook', name: 'Webhook', type: 'n8n-nodes-base.webhook', typeVersion: 2.1, position: [0, 200] };
  const edit = {
    ...{ id: 'edit', name: 'Edit Fields', type: 'n8n-nodes-base.set', typeVersion: 3.4, position: [120, 200] },
    parameters: { mode: 'raw', jsonOutput: `{ "chatInput": "${QUESTION}" }`, options: {} },
  };
  await n8n.updateWorkflow(chat.id, {
    nodes: [...nodes, { ...second, webhookId: `${chat.path}-hook`, parameters }, edit],
    connections: {
      ...connections,
      Webhook: { main: [[{ node: 'Edit Fields', type: 'main', index: 0 }]] },
      'Edit Fields': connections.Chat,
    },
  });
  await n8n.activate(chat.id);
  const whole = await n8n.callWebhook(`${chat.path}-hook`, {});
  expect(whole.json).toMatchObject({ output: ANSWER, status: 'completed', agent_tier: 'pro', tool_calls: 1 });
  expect(await readAsCustomer(n8n, chat, QUESTION)).toEqual({ output: ANSWER });
});

it('shows the operator what the item lacks, and tells how an unwired error output leaks', async () => {
  const chat = await chatOf(EMBEDDED, { node: { onError: 'continueErrorOutput' } });
  expect(await readAsCustomer(n8n, chat, QUESTION)).toEqual({ output: ANSWER });
  const { data } = await ended(n8n, await lastExecutionId(n8n, chat.id));
  const [ran] = data.resultData.runData.Agent as unknown as readonly {
    readonly hints: readonly { message: string }[];
  }[];
  const messages = ran?.hints.map(({ message }) => message).join('\n');
  expect(messages).toMatch(/2 model calls, 1 tool call \(find_orders \d+ ms\), \d+ ms, \$0\.00005400/);
  expect(messages).toContain('Nothing is wired to the error output');
  // So it is: this is what the hint warns of.
  models.always(() => textReply('', { prompt: 5, completion: 0 }).body);
  expect(await readAsCustomer(n8n, chat, QUESTION)).toMatchObject({ error: { code: 'LLM_EMPTY_REPLY' } });
});

it('sends a chat that loads the previous session what was said, and none of the tool calls', async () => {
  const chat = await chatOf(EMBEDDED, { options: { loadPreviousSession: 'memory' } });
  const { nodes, connections } = (await n8n.rest('GET', `/workflows/${chat.id}`)) as {
    nodes: object[];
    connections: object;
  };
  const parameters = { sessionIdType: 'customKey', sessionKey: chat.path };
  const memory = {
    id: 'memory',
    name: 'Memory',
    type: '@n8n/n8n-nodes-langchain.memoryBufferWindow',
    typeVersion: 1.3,
  };
  const targets = ['Chat', 'Agent'].map((node) => ({ node, type: 'ai_memory', index: 0 }));
  await n8n.updateWorkflow(chat.id, {
    nodes: [...nodes, { ...memory, position: [120, 240], parameters }],
    connections: { ...connections, Memory: { ai_memory: [targets] } },
  });
  await n8n.activate(chat.id);
  expect(await readAsCustomer(n8n, chat, QUESTION)).toEqual({ output: ANSWER });
  const loaded = await n8n.callWebhook(`${chat.path}/chat`, { action: 'loadPreviousSession', sessionId: 's' });
  const { data } = loaded.json as { data: readonly { readonly kwargs: { readonly content: string } }[] };
  expect(data.map(({ kwargs }) => kwargs.content)).toEqual([QUESTION, ANSWER]);
  expectNoSecrets(data.map(({ kwargs: { content, ...others } }) => content + JSON.stringify(others)));
  // The model still sees them.
  await readAsCustomer(n8n, chat, QUESTION);
  expect(models.received.at(-1)?.messages.map(({ role }) => role)).toEqual([
    ...['system', 'user', 'assistant', 'tool', 'assistant'],
    ...['user', 'assistant', 'tool'],
  ]);
});
