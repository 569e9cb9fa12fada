import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { type Editor, openEditor } from '../../scripts/lib/editor.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../support/servers/model-server';
import { sendStream } from '../support/servers/stream-reply';
import { addModelCredential, addPostgresCredential, connect, ended, lastExecutionId, type N8n } from './support/host';
import { serveHostedChat } from './support/hosted-chat';

const PICTURES = path.resolve(__dirname, '../..', '.cache/screenshots');
const PATH = 'c5d1f6a5-1c53-4b8a-9d7e-0000000000aa';
const QUESTION = 'Which orders does Ada have?';
const ANSWER =
  'Ada has two orders. The first one, 1001, was shipped on Monday. The second one, 1002, is in production until Friday.';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let editor: Editor;
let workflowId: string;

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  n8n = await connect();
  [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  const tenant = await addTenant(database);
  const node = (name: string, type: string, more: object): object => ({
    id: `chat-${name}`,
    name,
    type,
    position: [name === 'Chat' ? 0 : 240, 0],
    ...more,
  });
  ({ id: workflowId } = await n8n.createWorkflow({
    name: 'Streamed chat',
    nodes: [
      node('Chat', '@n8n/n8n-nodes-langchain.chatTrigger', {
        typeVersion: 1.4,
        webhookId: PATH,
        parameters: { public: true, mode: 'hostedChat', options: { responseMode: 'streaming' } },
      }),
      node('Agent', 'n8n-nodes-universal-ai-agent.universalAiAgent', {
        typeVersion: 3,
        parameters: { tenantId: { __rl: true, mode: 'id', value: tenant }, tier: 'pro', promptType: 'auto' },
        credentials: {
          openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-chat', url: models.url }),
          postgres: await addPostgresCredential(n8n, database.url),
        },
      }),
    ],
    connections: { Chat: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] } },
  }));
  await n8n.activate(workflowId);
  editor = await openEditor({ host: n8n });
  await serveHostedChat(editor.page);
});
afterAll(async () => {
  await editor.close();
  await n8n.deactivate(workflowId);
  await Promise.all([models.close(), database.close()]);
});

/** Asks in the chat that is open; resolves with the texts that were seen of the answer, the whole one last. */
async function ask(picture: string): Promise<readonly string[]> {
  const { page } = editor;
  models.script((_request, response) =>
    sendStream(response, textReply(ANSWER, { prompt: 310, completion: 20 }).body as object, {
      size: 800,
      delayMs: 150,
    }),
  );
  await page.getByPlaceholder(/type/i).fill(QUESTION);
  await page.keyboard.press('Enter');
  const seen = new Set<string>();
  for (let text = ''; !text.includes('until Friday.'); await page.waitForTimeout(20)) {
    text = (await page.locator('.chat-messages-list').first().innerText()).split(QUESTION).at(-1)?.trim() ?? '';
    if (text.startsWith('Ada')) seen.add(text);
    if (seen.size === 3) await editor.screenshot(path.join(PICTURES, `${picture}-streaming.png`));
  }
  await editor.screenshot(path.join(PICTURES, `${picture}-streamed.png`));
  return [...seen];
}

it.each([
  ["n8n's page for a chat", 'chat', (): Promise<unknown> => editor.page.goto(`${n8n.baseUrl}/webhook/${PATH}/chat`)],
  [
    "the editor's chat",
    'chat-editor',
    async (): Promise<unknown> => {
      await editor.login();
      await editor.openWorkflow(workflowId);
      return editor.page.getByRole('button', { name: 'Open chat' }).last().click();
    },
  ],
])('%s shows the answer while the model writes it, and the bill is that of the whole', async (_name, picture, open) => {
  await open();
  const seen = await ask(picture);
  expect(seen.filter((text) => text !== ANSWER).length).toBeGreaterThanOrEqual(3);
  expect(seen.at(-1)).toBe(ANSWER);

  const execution = await ended(n8n, await lastExecutionId(n8n, workflowId));
  expect(execution.data.resultData.runData.Agent?.[0].data.main[0]?.[0]?.json).toMatchObject({
    output: ANSWER,
    cost_usd: '0.00005850',
    tokens: { prompt: 310, completion: 20 },
  });
});
