import { AIMessage, coerceMessageLikeToMessage } from '@langchain/core/messages';
import type { INode, IRun } from 'n8n-workflow';
import { validateNodeCredentials } from 'n8n-workflow';

import { UniversalAiAgent } from '../../nodes/UniversalAiAgent/UniversalAiAgent.node';
import { textReply } from '../support/servers/model-server';
import { connectedWorld, NODE_TYPE } from '../support/worlds/connected-world';
import { outputOf } from '../support/worlds/n8n-engine';
import { subNodeType, type Wire } from '../support/worlds/sub-nodes';

const world = connectedWorld();
beforeAll(() =>
  world
    .database()
    .query(`INSERT INTO elo_model_pricing VALUES ('mine/main', 'test', 1, 2), ('mine/spare', 'test', 2, 4)`),
);
beforeEach(() => world.models().always(() => textReply('from the tier').body));

const USAGE = { input_tokens: 1000, output_tokens: 100, total_tokens: 1100 };

/** A chat model of LangChain's shape, whose answer names it and what it was asked. */
function chatModel(name: string, failure?: Error): object {
  const invoke = (messages: readonly object[]): Promise<AIMessage> => {
    if (failure !== undefined) return Promise.reject(failure);
    const last = coerceMessageLikeToMessage(messages.at(-1) as never);
    return Promise.resolve(
      new AIMessage({ content: `${name}: ${JSON.stringify(last.content)}`, usage_metadata: USAGE }),
    );
  };
  return { model: name, invoke, bindTools: () => ({ invoke }) };
}

const chat = (name: string, failure?: Error) => subNodeType('ai_languageModel', () => chatModel(name, failure));
const down = Object.assign(new Error('overloaded'), { status: 503 });
const nodeTypes = {
  'test.main': chat('mine/main'),
  'test.spare': chat('mine/spare'),
  'test.broken': chat('mine/main', down),
  'test.none': subNodeType('ai_languageModel', () => ({ invoke: () => 'a text' })),
  'test.named': subNodeType('ai_languageModel', (context, index) =>
    chatModel(context.evaluateExpression('{{ $json.model }}', index) as string),
  ),
};

const model = (type: string, more: Partial<Wire> = {}): Wire => ({
  name: type,
  type: `test.${type}`,
  output: 'ai_languageModel',
  ...more,
});
const asFallback = { input: 1 };

function run(wires: readonly Wire[], { node = {}, items = [{}] as object[] } = {}): Promise<IRun> {
  return world.run({
    parameters: { message: '={{ $json.message || "hello" }}' },
    // Without one of a model provider.
    node: { credentials: { postgres: { id: '2', name: 'Postgres' } }, ...node },
    wires,
    nodeTypes,
    items,
  });
}

const withProvider = { credentials: { openRouterApi: { id: '1', name: 'a' }, postgres: { id: '2', name: 'b' } } };
const first = (ran: IRun) => outputOf(ran, 'Agent')[0]?.json;

it('needs no credential of a provider, neither to publish nor to run, and bills the model under its name', async () => {
  const item = first(await run([model('main')]));
  expect(item).toMatchObject({
    output: 'mine/main: "hello"',
    model_used: 'mine/main',
    agent_tier: 'pro',
    cost_usd: '0.00120000',
    tokens: { prompt: 1000, completion: 100, total: 1100 },
  });
  // n8n's Logs panel would count it beside what the model's own node tells.
  expect(item).not.toHaveProperty('tokenUsage');
  expect(world.models().received).toEqual([]);
  const node = { parameters: {}, credentials: { postgres: { id: '2', name: 'Postgres' } } } as unknown as INode;
  expect(validateNodeCredentials(node, new UniversalAiAgent().getNodeType())).toEqual([]);
});

it('says what is missing when there is neither a credential nor a model', async () => {
  const { error } = (await run([])).data.resultData;
  expect(error).toMatchObject({
    description: expect.stringMatching(/"Credential for OpenRouter".+\(MODEL_MISSING\)$/) as unknown,
  });
});

describe('of two inputs of the same kind', () => {
  it.each([
    ['in this order', [model('broken'), model('spare', asFallback)]],
    ['in the other order', [model('spare', asFallback), model('broken')]],
  ])('the second is the fallback, wired %s', async (_order, wires) => {
    expect(first(await run(wires))).toMatchObject({ output: 'mine/spare: "hello"', model_used: 'mine/spare' });
  });

  it('the first answers while it can', async () => {
    const ran = await run([model('spare', asFallback), model('main')]);
    expect(first(ran)).toMatchObject({ output: 'mine/main: "hello"' });
  });

  it("the second alone is no chat model, but the fallback of the tier's", async () => {
    expect(first(await run([model('spare', asFallback)], { node: withProvider }))?.output).toBe('from the tier');
    world.models().script({ status: 401, body: {} });
    expect(first(await run([model('spare', asFallback)], { node: withProvider }))?.output).toBe('mine/spare: "hello"');
  });

  it('one that is switched off is not there', async () => {
    const off = await run([model('main', { disabled: true }), model('spare', asFallback)], { node: withProvider });
    expect(first(off)?.output).toBe('from the tier');
    const noSpare = await run([model('broken'), model('spare', { ...asFallback, disabled: true })]);
    expect(noSpare.data.resultData.error?.message).toContain('overloaded');
  });
});

it('reads the parameters of the model for each item', async () => {
  const wires = [model('named')];
  const ran = await run(wires, { items: [{ model: 'a/one' }, { model: 'a/two' }] });
  expect(outputOf(ran, 'Agent').map(({ json }) => json.model_used)).toEqual(['a/one', 'a/two']);
});

it('fails the item with one of our codes when the model fails, and names what is no chat model', async () => {
  const node = { onError: 'continueErrorOutput' as const };
  const failed = outputOf(await run([model('broken')], { node }), 'Agent', 1)[0];
  expect(failed?.json.error).toMatchObject({ code: 'LLM_UNAVAILABLE' });
  const unusable = outputOf(await run([model('none')], { node }), 'Agent', 1)[0];
  expect(unusable?.json.error).toMatchObject({ code: 'MODEL_UNUSABLE' });
});

it('asks nothing of n8n that a tool of another agent cannot answer', async () => {
  const ran = await run([], { node: { ...withProvider, type: `${NODE_TYPE}Tool` } });
  expect(first(ran)?.output).toBe('from the tier');
});
