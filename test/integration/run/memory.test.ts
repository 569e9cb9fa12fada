import { type Memory, type Message, type RunOptions, schemaFormat } from '../../../runtime';
import { addTenant } from '../../support/servers/database';
import { textReply, toolReply } from '../../support/servers/model-server';
import { containing } from '../../support/setup/matchers';
import { type AgentFixture, aTask, failureOf, gate, startAgentFixture } from '../../support/values/agent-fixture';

let fixture: AgentFixture;
beforeAll(async () => {
  fixture = await startAgentFixture();
});
afterAll(() => fixture.close());
beforeEach(() => {
  fixture.models.received.length = 0;
});

const user = (content: string): Message => ({ role: 'user', content });
const answer = (content: string): Message => ({ role: 'assistant', content });
const calling = (...ids: string[]): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'echo', arguments: '{}' } })),
});
const resultOf = (id: string): Message => ({ role: 'tool', tool_call_id: id, content: '"done"' });

/** A memory that holds `said`, and takes what it is given. */
function aMemory(...said: readonly Message[]) {
  const turns: (readonly Message[])[] = [];
  let loads = 0;
  const memory: Memory = {
    load: () => {
      loads++;
      return Promise.resolve([...said, ...turns.flat()]);
    },
    save: (turn) => {
      turns.push(turn);
      return Promise.resolve();
    },
  };
  return { memory, turns, loads: () => loads };
}

const run = (task: unknown, memory: Memory, options: RunOptions = {}) =>
  fixture.runtime.run(task, { ...options, connected: { memory } });
const sent = () => fixture.models.received.at(-1)?.messages ?? [];
const down = { status: 500, body: { error: { message: 'down' } } };

describe('what was said before', () => {
  it('stands between the system prompt and the message', async () => {
    const { memory } = aMemory(user('My name is Ann.'), answer('Hello Ann.'));
    fixture.models.script(textReply('Ann.'));
    await run(aTask(fixture.tenantId, { system_prompt: 'Be kind.', message: 'Who am I?' }), memory);
    expect(sent().map(({ role, content }) => [role, content])).toEqual([
      ['system', 'Be kind.'],
      ['user', 'My name is Ann.'],
      ['assistant', 'Hello Ann.'],
      ['user', 'Who am I?'],
    ]);
  });

  it.each<[string, Message[], number[]]>([
    ['results whose call is gone', [resultOf('a'), user('one'), answer('two')], [1, 2]],
    ['a call without its result', [user('one'), calling('a'), answer('two')], [0, 2]],
    ['a call of two with one result', [user('one'), calling('a', 'b'), resultOf('b'), answer('two')], [0, 3]],
    ['a call at the end', [user('one'), answer('two'), calling('a')], [0, 1]],
    ['a result of another call', [calling('a'), resultOf('b'), answer('one')], [2]],
    ['calls without ids', [calling(''), resultOf(''), answer('one')], [2]],
    [
      'nothing of whole steps',
      [calling('a', 'b'), resultOf('b'), resultOf('a'), calling('a'), resultOf('a')],
      [0, 1, 2, 3, 4],
    ],
  ])('loses %s', async (_what, said, kept) => {
    fixture.models.script(textReply('ok'));
    await run(aTask(fixture.tenantId, { message: 'now' }), aMemory(...said).memory);
    expect(sent()).toMatchObject([...kept.map((index) => said[index]), user('now')]);
    expect(sent()).toHaveLength(kept.length + 1);
  });

  it('has ids that calls of the run do not take again', async () => {
    const { memory } = aMemory(calling('call_1'), resultOf('call_1'));
    fixture.models.script(toolReply([{ name: 'echo', id: 'call_1' }]), textReply('ok'));
    await run(aTask(fixture.tenantId), memory);
    const ids = sent().flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id));
    expect(new Set(ids).size).toBe(2);
  });

  it('fails the run when it cannot be had, before anything is claimed or spent', async () => {
    const memory: Memory = { ...aMemory().memory, load: () => Promise.reject(new Error('no session')) };
    const task = aTask(fixture.tenantId);
    expect(await failureOf(run(task, memory))).toMatchObject({
      code: 'MEMORY_UNAVAILABLE',
      message: containing('no session'),
    });
    expect(fixture.models.received).toEqual([]);
    expect(await fixture.usageRows(task.task_id)).toEqual([]);
    await expect(fixture.runRow(task.task_id)).rejects.toThrow('never claimed');
  });

  it('does not keep a run that is cancelled while it loads', async () => {
    const stop = new AbortController();
    const loading = gate();
    const memory: Memory = {
      ...aMemory().memory,
      load: () => {
        loading.open();
        return new Promise(() => undefined);
      },
    };
    const failure = failureOf(run(aTask(fixture.tenantId), memory, { signal: stop.signal }));
    await loading.opened;
    stop.abort();
    expect(await failure).toMatchObject({ code: 'RUN_CANCELLED' });
  });
});

describe('the turn', () => {
  it('is kept with its steps, without what belongs to this turn only', async () => {
    const { memory, turns } = aMemory(user('before'), answer('yes'));
    fixture.models.script(
      toolReply([{ name: 'echo', arguments: { n: 1 }, id: 'a' }]),
      textReply('<think>so</think>One.'),
    );
    const task = aTask(fixture.tenantId, { system_prompt: 'Be kind.', message: 'Count.', context: { client: 7 } });
    await run(task, memory);
    expect(turns).toMatchObject([
      [
        user('Count.'),
        { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'echo', arguments: '{"n":1}' } }] },
        { role: 'tool', tool_call_id: 'a', content: '{"n":1}' },
        answer('One.'),
      ],
    ]);
  });

  it('is kept once: not again for a task that was done', async () => {
    const { memory, turns } = aMemory();
    const task = aTask(fixture.tenantId);
    fixture.models.script(textReply('ok'));
    await run(task, memory);
    expect(await run(task, memory)).toMatchObject({ replayed: true });
    expect(turns).toHaveLength(1);
  });

  it('is on record before it is kept', async () => {
    const task = aTask(fixture.tenantId);
    const states: string[] = [];
    const memory: Memory = {
      ...aMemory().memory,
      save: async () => {
        states.push((await fixture.runRow(task.task_id)).state);
      },
    };
    fixture.models.script(textReply('ok'));
    await run(task, memory);
    expect(states).toEqual(['done']);
  });

  it('of a run that failed is not kept', async () => {
    const { memory, turns } = aMemory();
    fixture.models.script(toolReply([{ name: 'echo' }]), down);
    await failureOf(run(aTask(fixture.tenantId), memory));
    expect(turns).toEqual([]);
  });

  it('that the memory does not take is a warning, and the answer is given', async () => {
    const memory: Memory = { ...aMemory().memory, save: () => Promise.reject(new Error('disk full')) };
    fixture.models.script(textReply('ok'));
    expect(await run(aTask(fixture.tenantId), memory)).toMatchObject({
      status: 'completed',
      result: { text: 'ok' },
      warnings: [{ code: 'MEMORY_NOT_SAVED', message: containing('disk full') }],
    });
  });

  it('that the memory does not take shows no secret of its failure', async () => {
    const secret = 'sk-0123456789abcdefABCDEF';
    const memory: Memory = { ...aMemory().memory, save: () => Promise.reject(new Error(`${secret} is refused`)) };
    fixture.models.script(textReply('ok'));
    const { warnings } = await run(aTask(fixture.tenantId), memory);
    expect(warnings).toMatchObject([{ code: 'MEMORY_NOT_SAVED', message: containing('is refused') }]);
    expect(JSON.stringify(warnings)).not.toContain(secret);
  });

  it('without an answer at the limit is not kept', async () => {
    const { memory, turns } = aMemory();
    fixture.models.script(toolReply([{ name: 'echo' }]));
    const task = aTask(fixture.tenantId, { max_iterations: 1, on_max_iterations: 'partial' });
    expect(await run(task, memory)).toMatchObject({ status: 'max_iterations', result: { text: '' } });
    expect(turns).toEqual([]);
  });

  it('of an answer in a form has its text, and no call that was not done', async () => {
    const { memory, turns } = aMemory();
    const format = schemaFormat({ type: 'object', properties: { n: { type: 'number' } } });
    fixture.models.script(
      toolReply([{ name: 'echo', id: 'a' }]),
      toolReply([{ name: 'echo' }, { name: format.tool.name, arguments: { n: 1 } }]),
    );
    await fixture.runtime.run(aTask(fixture.tenantId), { connected: { memory, format } });
    expect(turns[0]?.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(turns[0]?.at(-1)).toEqual(answer('{"n":1}'));
  });

  it('holds no secret that a model wrote', async () => {
    const secret = 'sk-0123456789abcdefABCDEF';
    const { memory, turns } = aMemory();
    fixture.models.script(toolReply([{ name: 'echo', arguments: { key: secret } }]), textReply(`It is ${secret}`));
    await run(aTask(fixture.tenantId), memory);
    expect(turns).toHaveLength(1);
    expect(JSON.stringify(turns)).not.toContain(secret);
  });

  it('of a last answer at the limit is kept without the request for it', async () => {
    const { memory, turns } = aMemory();
    fixture.models.script(toolReply([{ name: 'echo', id: 'a' }]), textReply('That is all.'));
    const task = aTask(fixture.tenantId, { max_iterations: 1, on_max_iterations: 'finalAnswer', message: 'Go' });
    expect(await run(task, memory)).toMatchObject({ status: 'max_iterations' });
    expect(turns[0]?.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });
});

describe('a task that is gone on with', () => {
  it('after a failure has the history that it began with, whatever was said since', async () => {
    const { memory, turns } = aMemory(user('before'), answer('yes'));
    const task = aTask(fixture.tenantId, { message: 'Count.' });
    fixture.models.script(toolReply([{ name: 'echo', id: 'a' }]), down);
    await failureOf(run(task, memory));
    const asked = sent();
    fixture.models.script(textReply('Other.'));
    await run(aTask(fixture.tenantId, { message: 'Another task.' }), memory);

    fixture.models.script(textReply('One.'));
    await run(task, memory);
    expect(sent()).toEqual(asked);
    expect(asked.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'tool']);
    expect(turns.at(-1)).toMatchObject([user('Count.'), { role: 'assistant' }, { role: 'tool' }, answer('One.')]);
  });

  it('twice still has it, also when the first step was left pending', async () => {
    const { memory } = aMemory(user('before'), answer('yes'));
    const task = aTask(fixture.tenantId, { message: 'Count.' });
    fixture.models.script(toolReply([{ name: 'echo', id: 'a' }]), down);
    await failureOf(run(task, memory));
    fixture.models.script(toolReply([{ name: 'echo', id: 'b', arguments: { n: 2 } }]), down);
    await failureOf(run(task, aMemory(user('other'), answer('talk')).memory));
    fixture.models.script(textReply('One.'));
    await run(task, aMemory().memory);
    expect(sent().map(({ content }) => content)).toEqual(['before', 'yes', 'Count.', null, '{}', null, '{"n":2}']);
  });

  it('without a memory is not given one later', async () => {
    const task = aTask(fixture.tenantId, { message: 'Count.' });
    fixture.models.script(toolReply([{ name: 'echo', id: 'a' }]), down);
    await failureOf(fixture.runtime.run(task));
    const { memory, turns } = aMemory(user('before'), answer('yes'));
    fixture.models.script(textReply('One.'));
    await run(task, memory);
    expect(sent().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(turns[0]?.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  it('after an approval has it too, does not load it again, and keeps the whole turn', async () => {
    const tenantId = await addTenant(fixture.database, {
      settings: { tool_config: { tool_permissions: { echo: { decision: 'ask' } } } },
    });
    const { memory, turns, loads } = aMemory(user('before'), answer('yes'));
    const task = aTask(tenantId, { message: 'Count.' });
    fixture.models.script(toolReply([{ name: 'echo', id: 'a', arguments: { n: 1 } }]));
    const waiting = await run(task, memory);
    expect(waiting.status).toBe('awaiting_input');
    expect(turns).toEqual([]);
    fixture.models.script(textReply('One.'));
    const approval = { run_id: waiting.run_id, decision: 'approve' };
    await run({ ...task, config: { ...task.config, approval } }, memory);
    expect(sent().map(({ content }) => content)).toEqual(['before', 'yes', 'Count.', null, '{"n":1}']);
    expect(turns).toMatchObject([[user('Count.'), { role: 'assistant' }, { role: 'tool' }, answer('One.')]]);
    expect(loads()).toBe(1);
  });
});
