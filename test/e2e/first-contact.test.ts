import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { eventually } from '../support/values/agent-fixture';
import { addModelCredential, addPostgresCredential, connect, type Credential, type N8n } from './support/host';
import { addRedisCredential, queueWorkflow, redisCli } from './support/queue';

const ROOT = path.resolve(__dirname, '../..');
const PICTURES = path.join(ROOT, '.cache/screenshots');
const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';
const README = readFileSync(path.join(ROOT, 'README.md'), 'utf8');

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let redis: TestRedis;
let credentials: { openRouterApi: Credential; postgres: Credential; redis: Credential };

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  n8n = await connect();
  [database, models, redis] = await Promise.all([createMigratedDatabase(), startModelServer(), startRedis()]);
  credentials = {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-first', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
    redis: await addRedisCredential(n8n, redis),
  };
});
afterAll(() => Promise.all([models.close(), redis.close(), database.close()]));

/** The blocks of code of a section of the README, as they are printed. */
function blocks(section: string): readonly string[] {
  const text = README.split(/^## /m).find((part) => part.startsWith(section)) ?? '';
  return [...text.matchAll(/^( *)```\w*\n([^]*?)^ *```$/gm)].map(([, indent = '', code = '']) =>
    code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

function chatWorkflow(options: {
  readonly webhookId: string;
  readonly tenant: string;
  readonly node?: object;
}): object {
  const common = { position: [0, 0], parameters: {} };
  return {
    name: options.webhookId,
    nodes: [
      {
        ...common,
        id: 'chat',
        name: 'Chat',
        type: '@n8n/n8n-nodes-langchain.chatTrigger',
        typeVersion: 1.4,
        webhookId: options.webhookId,
        parameters: { public: true, mode: 'webhook', options: { responseMode: 'streaming' } },
      },
      {
        ...common,
        id: 'agent',
        name: 'Agent',
        type: TYPE,
        typeVersion: 4,
        parameters: {
          tenantId: { __rl: true, mode: 'id', value: options.tenant },
          tier: 'pro',
          options: { identity: { sessionId: '={{ $json.sessionId }}' } },
        },
        credentials: { openRouterApi: credentials.openRouterApi, postgres: credentials.postgres },
        ...options.node,
      },
    ],
    connections: { Chat: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] } },
  };
}

interface Chunk {
  readonly type: string;
  readonly content?: string;
  readonly metadata: { readonly nodeName: string };
}

/** What a chat that streams is sent by the agent for one message. */
async function chat(webhookId: string): Promise<readonly (readonly [string, string | undefined])[]> {
  const { text } = await n8n.callWebhook(`${webhookId}/chat`, {
    action: 'sendMessage',
    sessionId: 'session-1',
    chatInput: 'Which orders does Ada have?',
  });
  const chunks = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Chunk);
  const ofAgent = chunks.filter(({ metadata }) => metadata.nodeName === 'Agent');
  return ofAgent.map(({ type, content }) => [type, content] as const);
}

it("the README's first workflow answers with its tool, and its task from the queue too, as printed", async () => {
  // With an address of its own: other tests have the same tool active at the same time.
  const example = readFileSync(path.join(ROOT, 'examples/workflows/find-orders.json'), 'utf8');
  const tool = JSON.parse(example.replaceAll('"find-orders"', '"find-orders-of-readme"')) as Record<string, unknown>;
  const { id: toolId } = await n8n.createWorkflow(tool);
  await n8n.activate(toolId);
  const sql = blocks('First workflow').find((code) => code.startsWith('INSERT')) ?? '';
  await database.query(
    sql.replace('http://localhost:5678/webhook/find-orders', `${n8n.baseUrl}/webhook/find-orders-of-readme`),
  );
  const [tenant] = await database.query<{ id: string }>(`SELECT id FROM elo_t_tenants WHERE name = 'First tenant'`);
  const answers = (): void =>
    models.always((request) => {
      const { role, content } = request.messages.at(-1) ?? {};
      if (role === 'tool') return textReply(`Found: ${String(content)}`).body;
      return toolReply([{ name: 'find_orders', arguments: { customer: 'Ada' } }]).body;
    });

  answers();
  const webhookId = 'readme-first-workflow';
  const { id } = await n8n.createWorkflow(
    chatWorkflow({ webhookId, tenant: tenant?.id ?? '' }) as Record<string, unknown>,
  );
  await n8n.activate(id);
  const answer =
    'Found: {"customer":"Ada","orders":[{"id":1001,"status":"shipped"},{"id":1002,"status":"in production"}]}';
  const chunks = await chat(webhookId);
  expect([chunks.at(0), chunks.at(-1)]).toEqual([
    ['begin', undefined],
    ['end', undefined],
  ]);
  expect(chunks.map(([, content]) => content ?? '').join('')).toBe(answer);

  const { id: queueId } = await n8n.createWorkflow(queueWorkflow(credentials));
  await n8n.activate(queueId);
  const [push = ''] = blocks('Tasks from a queue');
  const command = push
    .replace(/^TENANT=.*$/m, `TENANT=${tenant?.id ?? ''}`)
    .replace('redis-cli', `redis-cli -p ${redis.port}`);
  const { stdout } = await promisify(execFile)('sh', ['-c', command], {
    env: { ...process.env, REDISCLI_AUTH: redis.password },
  });
  expect(stdout.trim()).toBe('1');
  const result = await eventually(async () => {
    const printed = await redisCli(redis, 'LRANGE', 'elo:results:trace_456', '0', '-1');
    return printed === '' ? undefined : printed;
  });
  expect(JSON.parse(result)).toMatchObject({ task_id: 'agent_123', error: null, result: { text: answer } });
  await Promise.all([n8n.deactivate(toolId), n8n.deactivate(id), n8n.deactivate(queueId)]);
});

it.each([
  ['ends the execution', {}],
  ['the workflow goes on with', { onError: 'continueRegularOutput' }],
])('a chat that streams is told of an error that %s', async (what, node) => {
  const webhookId = `chat-error-${what.length}`;
  const stranger = '00000000-0000-4000-8000-000000000000';
  const { id } = await n8n.createWorkflow(
    chatWorkflow({ webhookId, tenant: stranger, node }) as Record<string, unknown>,
  );
  await n8n.activate(id);
  const errors = (await chat(webhookId)).filter(([type]) => type === 'error');
  expect(errors).toEqual([['error', 'Something went wrong and I could not answer. Please try again or contact us.']]);
  await n8n.deactivate(id);
});

describe('in the editor', () => {
  let editor: Editor;
  let workflowId: string;

  beforeAll(async () => {
    const tenant = await addTenant(database);
    const workflow = chatWorkflow({ webhookId: 'first-contact', tenant }) as Record<string, unknown>;
    ({ id: workflowId } = await n8n.createWorkflow(workflow));
    editor = await openEditor({ host: n8n });
    await editor.login();
  });
  afterAll(() => editor.close());

  const search = async (words: string, picture: string): Promise<string> => {
    await editor.openWorkflow(workflowId);
    await editor.page.locator('[data-test-id="node-creator-plus-button"]').first().click();
    const creator = editor.page.locator('[data-test-id="node-creator"]');
    await creator.locator('input').first().fill(words);
    await creator.getByText('Universal AI Agent').first().waitFor();
    await editor.screenshot(path.join(PICTURES, picture));
    return creator.innerText();
  };

  it.each(['universal', 'redis', 'budget', 'tools agent', 'multi-tenant'])(
    'a search for "%s" finds the agent, told as what it is',
    async (words) => {
      const text = await search(words, `creator-${words.replaceAll(' ', '-')}.png`);
      expect(text).toContain('AI agent for many tenants');
      expect(text).not.toContain('Starts the workflow for each task');
    },
  );

  it('asking the agent is its first action, and its trigger says what it waits for', async () => {
    await search('universal', 'creator-universal.png');
    const creator = editor.page.locator('[data-test-id="node-creator"]');
    await creator.getByText('Universal AI Agent').first().click();
    await creator.getByText('Ask the agent').waitFor();
    await creator.getByText('Triggers (1)').click();
    await creator.getByText('On task from the queue').waitFor();
    await editor.screenshot(path.join(PICTURES, 'creator-actions.png'));
    const text = await creator.innerText();
    const places = ['Ask the agent', 'Enqueue a task', 'Get the result of a task'].map((name) => text.indexOf(name));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(0);
  });

  it('a Context that was just added has no mark of an error', async () => {
    await editor.openWorkflow(workflowId);
    await editor.openNode('Agent');
    const panel = editor.page.locator('[data-test-id="ndv"]');
    await panel.getByPlaceholder('Add Option').click();
    await editor.page.locator('.el-select-dropdown__item:visible').getByText('Input: Context').click();
    await panel.locator('[data-test-id="parameter-input-context"]').scrollIntoViewIfNeeded();
    await editor.page.waitForLoadState('networkidle');
    await editor.screenshot(path.join(PICTURES, 'fresh-node.png'));
    expect(await panel.locator('.cm-lint-marker-error, .cm-lintRange-error').count()).toBe(0);
  });
});
