import { type Memory, type Message, type Model, schemaFormat } from '../../../runtime';
import { createOpenAiModel } from '../../../runtime/models/openai/openai-model';
import { addTenant } from '../../support/servers/database';
import {
  type ModelServerRequest,
  type ScriptedReply,
  startModelServer,
  textReply,
  toolReply,
} from '../../support/servers/model-server';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;
beforeAll(async () => {
  fixture = await startAgentFixture();
});
afterAll(() => fixture.close());
beforeEach(() => {
  fixture.models.received.length = 0;
});

const THOUGHT = 'First I look, "then" I think\n — ünd so on.';

interface Completion {
  readonly choices: readonly [{ readonly message: object }];
}

/** A reply whose message holds `fields` too. */
function thinking({ body }: { readonly body: unknown }, fields: object): { readonly body: unknown } {
  const completion = body as Completion;
  const [choice] = completion.choices;
  return { body: { ...completion, choices: [{ ...choice, message: { ...choice.message, ...fields } }] } };
}

const step = (fields: object) => thinking(toolReply([{ name: 'echo', id: 'call_1' }]), fields);
const answered = (request: ModelServerRequest | undefined) =>
  request?.messages.find(({ role }) => role === 'assistant') as Record<string, unknown> | undefined;
const last = () => answered(fixture.models.received.at(-1));

it.each([
  ['reasoning_content of DeepSeek and Kimi', { reasoning_content: THOUGHT }],
  ['reasoning_content that is empty', { reasoning_content: '' }],
  ['reasoning of Groq, Ollama and vLLM', { reasoning: THOUGHT }],
  [
    'reasoning_details of OpenRouter',
    { reasoning_details: [{ type: 'reasoning.text', text: THOUGHT, signature: 's' }] },
  ],
  ['thinking parts of Mistral', { content: [{ type: 'thinking', thinking: [{ type: 'text', text: THOUGHT }] }] }],
])('%s come back with the calls, letter by letter, and are no part of the result', async (_what, fields) => {
  fixture.models.script(step(fields), textReply('Done'));
  const task = aTask(fixture.tenantId, { include_trace: true });
  const result = await fixture.runtime.run(task);
  expect(last()).toMatchObject(fields);
  expect(Object.keys(last() ?? {})).not.toContain('original');
  expect(result.result.text).toBe('Done');
  expect(JSON.stringify(result)).not.toContain('I look');
});

it('blocks of reasoning stand for its text: both are not sent', async () => {
  fixture.models.script(step({ reasoning_details: [{ type: 'x' }], reasoning: THOUGHT }), textReply('Done'));
  await fixture.runtime.run(aTask(fixture.tenantId));
  expect(last()).toMatchObject({ reasoning_details: [{ type: 'x' }] });
  expect(last()).not.toHaveProperty('reasoning');
});

it.each([
  ['null', { reasoning_content: null, reasoning: null, reasoning_details: null }],
  ['an empty text of reasoning', { reasoning: '' }],
])('%s is not sent back', async (_what, fields) => {
  fixture.models.script(step(fields), textReply('Done'));
  await fixture.runtime.run(aTask(fixture.tenantId));
  expect(Object.keys(last() ?? {}).sort()).toEqual(['content', 'role', 'tool_calls']);
});

it('the text of reasoning is not sent back with an answer: models without tools refuse it', async () => {
  const format = schemaFormat({ type: 'object', required: ['n'], properties: { n: { type: 'number' } } });
  fixture.models.script(thinking(textReply('no JSON'), { reasoning_content: THOUGHT }), textReply('{"n":1}'));
  await fixture.runtime.run(aTask(fixture.tenantId), { connected: { format } });
  expect(last()).toEqual({ role: 'assistant', content: 'no JSON' });
});

describe('a run that goes on after another one failed', () => {
  const down: ScriptedReply = { status: 500, body: { error: { message: 'down' } } };

  it('gives the reasoning back as it was', async () => {
    const task = aTask(fixture.tenantId);
    fixture.models.script(step({ reasoning_content: THOUGHT }), down, textReply('Done'));
    await failureOf(fixture.runtime.run(task));
    await fixture.runtime.run(task);
    expect(last()).toMatchObject({ reasoning_content: THOUGHT, tool_calls: [{ id: 'call_1' }] });
  });

  it('does not give it to another model, which the tier names meanwhile', async () => {
    const task = aTask(await addTenant(fixture.database));
    fixture.models.script(step({ reasoning_content: THOUGHT }), down, textReply('Done'));
    await failureOf(fixture.runtime.run(task));
    const [tier] = await fixture.database.query<{ model_id: string }>(
      "SELECT * FROM elo_agent_tiers WHERE code = 'pro'",
    );
    const name = (model: string) =>
      fixture.database.query("UPDATE elo_agent_tiers SET model_id = $1 WHERE code = 'pro'", [model]);
    await name('other/model');
    await fixture.runtime.run(task).finally(() => name(tier?.model_id ?? ''));
    expect(fixture.models.received.at(-1)?.model).toBe('other/model');
    expect(Object.keys(last() ?? {}).sort()).toEqual(['content', 'role', 'tool_calls']);
  });
});

it('is given back to the model that it came from alone, whichever of two answers', async () => {
  const other = await startModelServer();
  const model = createOpenAiModel({ apiKey: '', baseUrl: other.url, maxRetries: 0 });
  const down: ScriptedReply = { status: 400, body: { error: { message: 'down' } } };
  const second = thinking(toolReply([{ name: 'echo', id: 'call_2' }]), { reasoning_content: 'of the fallback' });
  fixture.models.script(step({ reasoning_content: THOUGHT }), down, down, textReply('Done'));
  other.script(second, thinking(toolReply([{ name: 'echo', id: 'call_3' }]), {}));
  await fixture.runtime.run(aTask(fixture.tenantId), { connected: { fallback: { name: 'other', model } } });
  await Promise.all([model.close(), other.close()]);
  const reasoning = (request: ModelServerRequest | undefined) =>
    request?.messages.filter(({ role }) => role === 'assistant').map((message) => 'reasoning_content' in message);
  expect(other.received.map(reasoning)).toEqual([[false], [false, true]]);
  expect(reasoning(fixture.models.received.at(-1))).toEqual([true, false, false]);
});

it('is not kept in a memory', async () => {
  const turns: (readonly Message[])[] = [];
  const memory: Memory = { load: () => Promise.resolve([]), save: (turn) => Promise.resolve(void turns.push(turn)) };
  fixture.models.script(step({ reasoning_content: THOUGHT }), textReply('Done'));
  await fixture.runtime.run(aTask(fixture.tenantId), { connected: { memory } });
  expect(turns[0]?.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(JSON.stringify(turns)).not.toContain('I look');
});

it('of a model that is plugged in comes back to it as it was', async () => {
  const seen: (readonly Message[])[] = [];
  const own: Message = { role: 'assistant', content: null, reasoning_details: { mine: 1 } };
  const model: Model = {
    generate: ({ messages, attempts }) => {
      attempts.sent++;
      attempts.answered++;
      seen.push([...messages]);
      const call = { id: 'call_1', type: 'function', function: { name: 'echo', arguments: '{}' } } as const;
      return Promise.resolve(
        seen.length === 1
          ? { message: { ...own, tool_calls: [call] }, finishReason: 'tool-calls' }
          : { message: { role: 'assistant', content: 'Done' }, finishReason: 'stop' },
      );
    },
  };
  await fixture.runtime.run(aTask(fixture.tenantId), { connected: { model: { name: 'mine', model } } });
  expect(seen[1]?.[1]).toMatchObject({ reasoning_details: { mine: 1 } });
});
