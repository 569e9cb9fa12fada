import type { IExecuteFunctions, INode, INodeParameters, IRun } from 'n8n-workflow';

import { itemsAtOnce } from '../../nodes/UniversalAiAgent/operations/for-items';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { sendJson } from '../support/servers/http-server';
import { type ModelServer, type ScriptedReply, startModelServer, textReply } from '../support/servers/model-server';
import { eventually, gate } from '../support/values/agent-fixture';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';

let database: TestDatabase;
let models: ModelServer;
let tenant: string;

beforeAll(async () => {
  [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  tenant = await addTenant(database);
});
afterAll(() => Promise.all([models.close(), database.close()]));
beforeEach(() => {
  models.received.length = 0;
});

function run(messages: readonly string[], options: INodeParameters, settings: Partial<INode> = {}): Promise<IRun> {
  const credentials = {
    openRouterApi: { apiKey: 'sk-node', url: models.url },
    postgres: postgresCredential(database.url),
  };
  const agent: INode = {
    ...{ id: 'agent-node', name: 'Agent', type: TYPE, typeVersion: 4, position: [0, 0] },
    parameters: { tenantId: tenant, message: '={{ $json.message }}', tier: 'pro', options },
    credentials: Object.fromEntries(Object.keys(credentials).map((type) => [type, { id: type, name: type }])),
    ...settings,
  };
  const start: INode = { ...agent, id: 'start', name: 'Items', type: 'test.items', parameters: {} };
  return runInEngine({
    workflow: {
      nodes: [start, agent],
      connections: { Items: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] } },
    },
    items: messages.map((message) => ({ message })),
    credentials,
  });
}

const answers = (ended: IRun) => outputOf(ended, 'Agent').map(({ json }) => json.output);
const asked = () => models.received.map(({ messages }) => messages.at(-1)?.content);

it('runs so many at the same time, and keeps their order', async () => {
  const all = gate();
  // None is answered before three are asked.
  const reply: ScriptedReply = async ({ messages }, response) => {
    if (models.received.length === 3) all.open();
    await all.opened;
    sendJson(response, textReply(`to ${messages.at(-1)?.content}`).body);
  };
  models.script(reply, reply, reply, reply);
  const ended = await run(['one', 'two', 'three', 'four'], { itemsAtOnce: 3 });
  expect(answers(ended)).toEqual(['to one', 'to two', 'to three', 'to four']);
  expect(asked().at(-1)).toBe('four');
});

it.each([[{}], [{ itemsAtOnce: 1 }]])('runs one after the other with %j', async (options) => {
  let open = 0;
  const reply: ScriptedReply = (_request, response) => {
    expect(++open).toBe(1);
    sendJson(response, textReply('done').body);
    open--;
  };
  models.script(reply, reply);
  await run(['one', 'two'], options);
  expect(asked()).toEqual(['one', 'two']);
});

it('a failure is told of its item; the others are stopped, and none is begun', async () => {
  const waiting = gate();
  const isClosed = gate();
  models.script(
    (_request, response) => {
      response.on('close', () => isClosed.open());
      waiting.open();
    },
    async (_request, response) => {
      await waiting.opened;
      sendJson(response, { error: { message: 'no such key' } }, 401);
    },
  );
  const { error } = (await run(['waits', 'fails', 'never'], { itemsAtOnce: 2 })).data.resultData;
  expect(`${error?.description}`).toContain('LLM_AUTH_FAILED');
  await isClosed.opened;
  expect(models.received).toHaveLength(2);
  await eventually(async () => {
    const rows = await database.query(`SELECT 1 FROM elo_agent_runs WHERE state = 'running'`);
    return rows.length === 0 ? true : undefined;
  });
});

it('continues after a failure where the node says so, in the order of the items', async () => {
  models.always(({ messages }) => textReply(`to ${messages.at(-1)?.content}`).body);
  const ended = await run(['one', '', 'three'], { itemsAtOnce: 3 }, { onError: 'continueRegularOutput' });
  expect(outputOf(ended, 'Agent').map(({ json }) => (json.error === undefined ? json.output : 'failed'))).toEqual([
    'to one',
    'failed',
    'to three',
  ]);
});

it.each([
  [{ itemsAtOnce: 5 }, false, 5],
  [{ itemsAtOnce: 5 }, true, 1],
  [{ itemsAtOnce: '={{ 5 }}' }, false, 1],
  [{ itemsAtOnce: 0 }, false, 1],
  [undefined, false, 1],
])('with the options %j, streamed %p: %i at once', (options, isStreamed, expected) => {
  const node = { parameters: { options } };
  const context = { getNode: () => node, isStreaming: () => isStreamed } as unknown as IExecuteFunctions;
  expect(itemsAtOnce(context)).toBe(expected);
});
