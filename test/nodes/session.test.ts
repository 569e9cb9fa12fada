import type { ICredentialDataDecryptedObject, IDataObject, INode, INodeParameters, IRun } from 'n8n-workflow';

import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../support/servers/model-server';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';

let database: TestDatabase;
let models: ModelServer;
let tenant: string;
let credentials: Record<string, ICredentialDataDecryptedObject>;

beforeAll(async () => {
  database = await createMigratedDatabase();
  models = await startModelServer();
  models.always(() => textReply('Hello.').body);
  credentials = { openRouterApi: { apiKey: 'sk-node', url: models.url }, postgres: postgresCredential(database.url) };
});
afterAll(() => Promise.all([models.close(), database.close()]));
beforeEach(async () => {
  tenant = await addTenant(database, { settings: { default_tier: 'pro' } });
  models.received.length = 0;
});

/** Runs the node once for each item. */
function run(parameters: INodeParameters, items: IDataObject[], node: Partial<INode> = {}): Promise<IRun> {
  const common = { typeVersion: 4, position: [0, 0] as [number, number] };
  const agent: INode = {
    ...{ ...common, id: 'agent', name: 'Agent', type: TYPE },
    parameters: {
      tenantId: { __rl: true, mode: 'id', value: tenant },
      message: '={{ $json.chatInput }}',
      ...parameters,
    },
    credentials: Object.fromEntries(Object.keys(credentials).map((name) => [name, { id: name, name }])),
    ...node,
  };
  const start: INode = { ...common, id: 'start', name: 'Items', type: 'test.items', parameters: {} };
  const connections = { Items: { main: [[{ node: 'Agent', type: 'main' as const, index: 0 }]] } };
  return runInEngine({ workflow: { nodes: [start, agent], connections }, items, credentials });
}

const lengths = (): readonly number[] => models.received.map(({ messages }) => messages.length);
const hints = (finished: IRun): readonly string[] =>
  (finished.data.resultData.runData.Agent?.[0]?.hints ?? []).map(({ message }) => message);
const chat = (chatInput: string, sessionId: string | number): IDataObject => ({ chatInput, sessionId });

it('remembers what was said under the Session ID, in this execution and in the next one', async () => {
  const finished = await run({ sessionId: '={{ $json.sessionId }}' }, [
    chat('One', 'a'),
    chat('Two', 'a'),
    chat('Three', 7),
  ]);
  expect(outputOf(finished, 'Agent').map(({ json }) => json.session_id)).toEqual(['a', 'a', '7']);
  expect(hints(finished)).toEqual([]);
  await run({ sessionId: 'a' }, [chat('Four', 'b')]);
  expect(lengths()).toEqual([1, 3, 1, 5]);
});

it('remembers nothing without one, and says what to do in a chat', async () => {
  const finished = await run({}, [chat('One', 'a'), chat('Two', 'a')]);
  expect(lengths()).toEqual([1, 1]);
  expect(outputOf(finished, 'Agent')[0]?.json).not.toHaveProperty('session_id');
  expect(hints(finished)).toEqual([expect.stringContaining('set Session ID, or connect a Memory')]);
  expect(await database.query('SELECT FROM elo_agent_sessions WHERE tenant_id = $1', [tenant])).toEqual([]);
});

it('takes an expression that finds nothing for no session', async () => {
  await run({ sessionId: '={{ $json.nothing }}' }, [chat('One', 'a'), chat('Two', 'a')]);
  expect(lengths()).toEqual([1, 1]);
});

it('is not there in nodes of earlier versions', async () => {
  const finished = await run({ sessionId: 'a' }, [chat('One', 'a'), chat('Two', 'a')], { typeVersion: 2 });
  expect(lengths()).toEqual([1, 1]);
  expect(hints(finished)).toEqual([expect.stringContaining('conversation: connect a Memory')]);
});

it('is shown the conversation that the client has kept, as a list or as JSON text, and no hint', async () => {
  const messages = [
    { role: 'user', content: 'My name is Ann.' },
    { role: 'assistant', content: 'Hello Ann.' },
  ];
  const last = { role: 'user', content: 'Who am I?' };
  const items = [
    { ...chat('Who am I?', 'a'), messages },
    { ...chat('', 'a'), messages: JSON.stringify([...messages, last]) },
  ];
  const finished = await run({ options: { messages: '={{ $json.messages }}' } }, items);
  expect(models.received.map(({ messages: sent }) => sent)).toEqual([
    [...messages, last],
    [...messages, last],
  ]);
  expect(hints(finished)).toEqual([]);
});
