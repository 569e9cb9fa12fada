import { randomUUID } from 'node:crypto';

import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, failureOf, startAgentFixture } from '../../support/values/agent-fixture';

let agent: AgentFixture;

beforeAll(async () => {
  agent = await startAgentFixture();
});
afterAll(() => agent.close());

describe('a stored result', () => {
  it.each([
    ['a NUL character', 'before\u0000after'],
    ['half a surrogate pair', 'before\ud83dafter'],
    ['text of almost half a million bytes', 'ä€😀x'.repeat(40_000)],
    ['quotes, backslashes and newlines', `it's "quoted" \\ back\nnew \\u0000 $1 %s`],
  ])('comes back intact with %s in the answer and in a tool call', async (_what, text) => {
    const task = aTask(agent.tenantId, { system_prompt: text });
    agent.models.script(toolReply([{ name: 'echo', arguments: { text } }]), textReply(text));
    const first = await agent.runtime.run(task);
    expect(first).toMatchObject({ warnings: [], result: { text, tool_calls: [{ result: { text } }] } });
    await expect(agent.runtime.run(task)).resolves.toEqual({ ...first, replayed: true });
    expect(await agent.usageRows(task.task_id)).toMatchObject([{ model_calls: 2 }]);
  });
});

describe('an id', () => {
  it.each([
    ['of 200 characters', 'x'.repeat(200)],
    ['of 200 characters outside ASCII', 'ж'.repeat(200)],
    ['with quotes', `it's "a" task; DROP TABLE elo_agent_runs; --`],
    ['with a colon, a slash and spaces', 'elo:tasks/ 1 :2'],
    ['with characters of four bytes', 'задача-任务-😀'],
    ['that is a number', '42'],
  ])('%s names one line', async (_what, name) => {
    const taskId = name.length === 200 ? name : `${name}${randomUUID()}`;
    const task = aTask(agent.tenantId, { message: 'Do it' }, taskId);
    agent.models.script(textReply('Done.'));
    await expect(agent.runtime.run(task)).resolves.toMatchObject({ task_id: taskId, warnings: [] });
    await expect(agent.runtime.run(task)).resolves.toMatchObject({ replayed: true });
    expect(await agent.usageRows(taskId)).toMatchObject([{ task_id: taskId, model_calls: 1 }]);
  });

  it.each([
    ['a task id of 201 characters', { task_id: 'x'.repeat(201) }],
    ['an empty task id', { task_id: '' }],
    ['a task id with a NUL character', { task_id: 'a\u0000b' }],
    ['a task id with half a surrogate pair', { task_id: 'a\ud83d' }],
    ['a trace id of 101 characters', { trace_id: 'x'.repeat(101) }],
  ])('is refused before anything is called: %s', async (_what, ids) => {
    const before = agent.models.received.length;
    const error = await failureOf(agent.runtime.run({ ...aTask(agent.tenantId), ...ids }));
    expect(error).toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining(Object.keys(ids)[0] ?? '') as string,
    });
    expect(agent.models.received.length).toBe(before);
  });

  it('of a trace may have 100 characters, and stands on the line', async () => {
    const task = { ...aTask(agent.tenantId), trace_id: 'ä'.repeat(100) };
    agent.models.script(textReply('Done.'));
    await expect(agent.runtime.run(task)).resolves.toMatchObject({ trace_id: task.trace_id });
    expect(await agent.usageRows(task.task_id)).toMatchObject([{ trace_id: task.trace_id }]);
  });

  it('is made when the task has none, so that every run has a line of its own', async () => {
    const { task_id: _none, ...task } = aTask(agent.tenantId);
    agent.models.script(textReply('One.'), textReply('Two.'));
    const [one, two] = [await agent.runtime.run(task), await agent.runtime.run(task)];
    expect(one.task_id).not.toBe(two.task_id);
    expect(await agent.usageRows(two.task_id)).toHaveLength(1);
  });
});

it.each([
  ['a NUL character', 'gen-\u0000'],
  ['half a surrogate pair', 'gen-\udc00'],
  ['a thousand characters', 'g'.repeat(1000)],
  ['a surrogate pair where it is cut', `${'g'.repeat(199)}😀`],
])("bills a call whose provider's ids hold %s", async (_what, id) => {
  const task = aTask(agent.tenantId);
  const { body } = textReply('Done.', { prompt: 1250, completion: 340 });
  agent.models.script({ body: { ...(body as object), id, model: id } });
  await expect(agent.runtime.run(task)).resolves.toMatchObject({ warnings: [] });
  expect(await agent.usageRows(task.task_id)).toMatchObject([{ cost_usd: '0.00039150' }]);
});

it('bills a model override that holds half a surrogate pair', async () => {
  const task = aTask(agent.tenantId, { model_override: 'some/model\ud83d' });
  agent.models.script(textReply('Done.', { prompt: 1250, completion: 340, model: 'openai/gpt-4o-mini' }));
  await expect(agent.runtime.run(task)).resolves.toMatchObject({ warnings: [], cost_usd: '0.00039150' });
  expect(await agent.usageRows(task.task_id)).toMatchObject([{ cost_usd: '0.00039150' }]);
});
