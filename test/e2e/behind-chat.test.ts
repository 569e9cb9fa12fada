import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { openEditor } from '../../scripts/lib/editor.mjs';
import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { eventually } from '../support/values/agent-fixture';
import { CHAT_KINDS, type ChatKind, publishChat, type PublishedChat, readAsCustomer, readUntil } from './support/chats';
import { addModelCredential, addPostgresCredential, connect, ended, lastExecutionId, type N8n } from './support/host';
import { serveHostedChat } from './support/hosted-chat';
import { PICTURES } from './support/pictures';

const SCREENSHOTS = path.resolve(__dirname, '../..', '.cache/screenshots');
const QUESTION = 'Which orders does Ada have?';
/** The tool for this one is down. */
const STOCK = 'How many bells are in stock?';
/** Needs an approval. */
const REFUND = 'Please refund order 1001.';
/** Of a tenant whose budget is used up. */
const SPENT = 'Am I still welcome?';
/** The model's provider refuses the key. */
const REFUSED = 'Is the key right?';
/** What the customer reads. */
const SENTENCES = {
  [REFUND]: 'This request needs an approval before I can continue.',
  [SPENT]: 'A usage limit has been reached, so I cannot answer right now. Please try again later or contact us.',
  [REFUSED]: 'Something went wrong and I could not answer. Please try again or contact us.',
} as const;
const DOWN = 'http://127.0.0.1:1/stock';
const ANSWER = 'Ada has two orders.';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let hook: TestServer;
let tenant: string;
let poorTenant: string;
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
  ...['gpt-4o-mini', 'cost', 'token', 'tier', 'model', 'tokenUsage', 'run_id', 'task_id', 'trace_id', 'status', 'hint'],
  ...['duration', 'TOOL_', 'LLM_', 'n8n:', tenant, poorTenant, hook.url],
];

beforeAll(async () => {
  for (const folder of [SCREENSHOTS, PICTURES]) mkdirSync(folder, { recursive: true });
  n8n = await connect();
  [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  hook = await startServer((_request, response) => sendJson(response, { customer: 'Ada', margin: 'planted-result' }));
  tenant = await addTenant(database);
  await giveTool(database, tenant, { code: 'find_orders', endpoint: hook.url });
  await giveTool(database, tenant, { code: 'check_stock', endpoint: DOWN });
  const permissions = { decision: 'ask' };
  await giveTool(database, tenant, { code: 'refund', endpoint: DOWN, customConfig: { permissions } });
  poorTenant = await addTenant(database, { settings: { monthly_cost_limit_usd: '0.000000001' } });
  agent = {
    name: 'Agent',
    type: 'n8n-nodes-universal-ai-agent.universalAiAgent',
    typeVersion: 4,
    parameters: {
      tenantId: {
        __rl: true,
        mode: 'id',
        value: `={{ $json.chatInput === '${SPENT}' ? '${poorTenant}' : '${tenant}' }}`,
      },
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
    const name = content?.includes(STOCK) ? 'check_stock' : content?.includes(REFUND) ? 'refund' : 'find_orders';
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
const answerTo = ({ responseMode }: ChatKind, text: string = ANSWER): unknown => {
  if (responseMode === 'responseNodes') return [text];
  if (responseMode !== 'streaming') return { output: text };
  return [{ type: 'begin' }, { type: 'item', content: text }, { type: 'end' }];
};

/** The same for a run that failed. */
const failureTo = (kind: ChatKind, text: string): unknown =>
  kind.responseMode === 'streaming' ? [{ type: 'begin' }, { type: 'error', content: text }] : answerTo(kind, text);

const refuseKey = (): void => models.script({ status: 401, body: { error: { message: 'planted-key is not known' } } });

function expectNoSecrets(received: unknown): void {
  const text = JSON.stringify(received);
  expect(secrets().filter((word) => text.includes(word))).toEqual([]);
}

describe.each(CHAT_KINDS)('$mode, $responseMode', (kind) => {
  let chat: PublishedChat;
  beforeAll(async () => {
    chat = await chatOf(kind, { node: { onError: 'continueRegularOutput' } });
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

/** The rest of the cases, in which the customer gets a sentence. */
describe.each(CHAT_KINDS)('$mode, $responseMode, without an answer', (kind) => {
  let chat: PublishedChat;
  beforeAll(async () => {
    chat = await chatOf(kind, { node: { onError: 'continueRegularOutput' } });
  });

  it.each([
    ['that an approval is needed', REFUND, answerTo],
    ['that a limit is reached', SPENT, answerTo],
    ['that something went wrong with a key that the provider refuses', REFUSED, failureTo],
  ] as const)('says %s', async (_what, question, expected) => {
    if (question === REFUSED) refuseKey();
    const received = await readAsCustomer(n8n, chat, question);
    expect(received).toEqual(expected(kind, SENTENCES[question]));
    expectNoSecrets(received);
  });

  it('says nothing of a run that is stopped', async () => {
    const hangUp = new AbortController();
    models.received.length = 0;
    models.script(() => undefined);
    const reply = readUntil(hangUp.signal, n8n, chat);
    await eventually(() => Promise.resolve(models.received.length > 0 ? true : undefined));
    const execution = await lastExecutionId(n8n, chat.id);
    await n8n.stopExecution(execution);
    expect((await ended(n8n, execution)).status).toBe('canceled');
    hangUp.abort();
    expectNoSecrets(await reply);
  });
});

describe('On Error: Stop Workflow', () => {
  it.each(CHAT_KINDS)('says nothing of its own in a chat of $mode, $responseMode', async (kind) => {
    const chat = await chatOf(kind);
    refuseKey();
    const received = await readAsCustomer(n8n, chat, REFUSED);
    expectNoSecrets(received);
    // n8n sends the description of the error.
    if (kind.responseMode === 'streaming') {
      expect(received).toEqual([{ type: 'error', content: SENTENCES[REFUSED] }]);
    }
    const { data } = await ended(n8n, await lastExecutionId(n8n, chat.id));
    expect(data.resultData.error?.message).toMatch(/refused the API key/);
  });

  it('stays green if the budget is used up', async () => {
    const chat = await chatOf(EMBEDDED);
    expect(await readAsCustomer(n8n, chat, SPENT)).toEqual({ output: SENTENCES[SPENT] });
    expect((await ended(n8n, await lastExecutionId(n8n, chat.id))).status).toBe('success');
  });
});

it.each(['lastNode', 'streaming'] as const)("shows each case on n8n's page for a chat (%s)", async (responseMode) => {
  const chat = await chatOf({ mode: 'hostedChat', responseMode }, { node: { onError: 'continueRegularOutput' } });
  const editor = await openEditor({ host: n8n });
  const { page } = editor;
  try {
    await serveHostedChat(page);
    await page.setViewportSize({ width: 900, height: 560 });
    await page.goto(`${n8n.baseUrl}/webhook/${chat.path}/chat`);
    const ask = async (question: string, answer: string): Promise<void> => {
      await page.getByPlaceholder(/type/i).fill(question);
      await page.keyboard.press('Enter');
      await page.getByText(answer).last().waitFor();
    };
    await ask(REFUND, SENTENCES[REFUND]);
    await ask(SPENT, SENTENCES[SPENT]);
    const name = responseMode === 'lastNode' ? path.join(PICTURES, 'customer-chat.png') : undefined;
    await editor.screenshot(name ?? path.join(SCREENSHOTS, 'customer-chat-streaming.png'));
    refuseKey();
    await ask(REFUSED, SENTENCES[REFUSED]);
    models.script();
    await ask(STOCK, ANSWER);
    await editor.screenshot(path.join(SCREENSHOTS, `customer-chat-${responseMode}-2.png`));
    expect(await page.locator('.chat-messages-list').first().innerText()).not.toContain('{');
  } finally {
    await editor.close();
  }
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
