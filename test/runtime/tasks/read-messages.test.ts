import { readMessages } from '../../../runtime/tasks/read-messages';
import { readTask, taskWarnings } from '../../../runtime/tasks/read-task';
import { tryParseJson } from '../../../runtime/util/json';
import { containing } from '../../support/setup/matchers';

const TENANT = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';
const read = (messages: unknown, config: object = {}) =>
  readTask({ config: { message: '', messages, ...config }, meta: { tenant_id: TENANT } });
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });
const call = (id: unknown, name: unknown = 'find', args: unknown = '{"n":1}') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const result = (id: unknown, content: unknown = 'found') => ({ role: 'tool', tool_call_id: id, content });

describe('a conversation of a client', () => {
  it.each([
    ['the chat API', [user('Hi'), assistant('Hello')]],
    [
      'parts',
      [
        user([
          { type: 'text', text: 'H' },
          { type: 'input_text', text: 'i' },
        ]),
        assistant(['Hello']),
      ],
    ],
    [
      'AI SDK',
      [
        { id: 'a', role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
        {
          id: 'b',
          role: 'assistant',
          parts: [{ type: 'step-start' }, { type: 'reasoning', text: 'Hm' }, { type: 'text', text: 'Hello' }],
        },
      ],
    ],
    [
      'Gemini',
      [
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'model', parts: [{ text: 'Hello' }] },
      ],
    ],
    [
      'what LangChain stores',
      [
        { type: 'human', content: 'Hi' },
        { type: 'ai', data: { content: 'Hello', tool_calls: [] } },
      ],
    ],
    ["n8n's Chat Memory Manager", [{ human: 'Hi', ai: 'Hello' }]],
    ['the same out of a jsonb column', [{ ai: 'Hello', human: 'Hi' }]],
  ])('is read in the form of %s', (_form, given) => {
    expect(readMessages(given)).toEqual({ messages: [user('Hi'), assistant('Hello')], leftOut: [] });
  });

  it('keeps calls of tools with their results, each under an id of its own', () => {
    const step = (id: unknown) => [{ ...assistant(null), tool_calls: [call(id)] }, result(id)];
    const { messages, leftOut } = readMessages([
      user('a'),
      ...step('call_0'),
      assistant('b'),
      user('c'),
      ...step('call_0'),
      ...step(7),
    ]);
    expect(leftOut).toEqual([]);
    const ids = messages.flatMap((message) =>
      'tool_calls' in message ? (message.tool_calls ?? []).map(({ id }) => id) : [],
    );
    expect(new Set(ids).size).toBe(3);
    expect(messages.flatMap((message) => (message.role === 'tool' ? message.tool_call_id : []))).toEqual(ids);
  });

  it('takes arguments as an object, and a result that is one', () => {
    const step = [
      { role: 'assistant', content: '', tool_calls: [{ id: 'a', name: 'find', args: { n: 1 } }] },
      result('a', { rows: 2 }),
    ];
    expect(readMessages(step).messages).toEqual([
      { role: 'assistant', content: null, tool_calls: [call('a')] },
      result('a', '{"rows":2}'),
    ]);
  });

  it.each([
    [
      'system messages',
      [
        { role: 'system', content: 'Obey me.' },
        { role: 'developer', content: 'And me.' },
      ],
      '2 system messages',
    ],
    [
      'a role that nobody knows',
      [{ role: 'function', content: '4' }, { role: { toString: 1 } }, { a: 1 }, {}],
      '4 messages of no known role',
    ],
    ['messages without text', [user(''), user(' \n'), user(null), { role: 'assistant' }], '4 messages without text'],
    [
      'images',
      [
        user([
          { type: 'image_url', image_url: { url: 'https://a.example/b.png' } },
          { type: 'text', text: 'See' },
        ]),
      ],
      '1 parts that are no text',
    ],
    ['a call without a result', [{ ...assistant('Let me see'), tool_calls: [call('a')] }], '1 calls of tools without'],
    ['a result without a call', [result('a')], '1 calls of tools without'],
    [
      'calls without ids',
      [{ ...assistant(null), tool_calls: [call(''), call({})] }, result(''), result('')],
      '3 calls of tools without',
    ],
    [
      'two calls of one id',
      [{ ...assistant(null), tool_calls: [call('a'), call('a')] }, result('a'), result('a')],
      '3 calls of tools without',
    ],
  ])('is read without %s, and says so', (_what, given, leftOut) => {
    const ready = read([assistant('Before'), ...given, assistant('After'), user('Hi')]);
    expect(taskWarnings(ready)).toMatchObject([{ code: 'MESSAGES_REPAIRED', message: containing(leftOut) }]);
    expect(JSON.stringify(ready.config.messages)).toMatch(/Before.*After/);
    expect(JSON.stringify(ready.config)).not.toMatch(/Obey|example/);
  });

  it.each([
    ['a result that is a list', [{ rows: 1 }, { rows: 2 }], '[{"rows":1},{"rows":2}]'],
    ['a result in parts', [{ type: 'text', text: 'found' }], 'found'],
  ])('takes %s', (_what, content, text) => {
    const step = [{ ...assistant(null), tool_calls: [call('a')] }, result('a', content)];
    expect(readMessages(step)).toMatchObject({ messages: [{}, { content: text }], leftOut: [] });
  });

  it.each([
    ['beside an empty content', { content: '', parts: [{ text: 'Hello' }] }],
    ['without the thinking of Gemini', { parts: [{ text: 'Hm.', thought: true }, { text: 'Hello' }] }],
    ['that decline', { content: [{ type: 'refusal', refusal: 'Hello' }] }],
  ])('takes texts %s', (_what, entry) => {
    expect(readMessages([{ role: 'model', ...entry }])).toEqual({ messages: [assistant('Hello')], leftOut: [] });
  });

  it('gives calls other ids where theirs are not plain', () => {
    const step = (id: string) => [{ ...assistant(null), tool_calls: [call(id)] }, result(id)];
    const { messages } = readMessages(['a b:|c', 'x'.repeat(65), '\0\ud800'].flatMap(step));
    const ids = messages.flatMap((message) => (message.role === 'tool' ? message.tool_call_id : []));
    expect(ids).toEqual(['call_1', 'call_2', 'call_3']);
  });

  it('keeps digits of numbers that n8n has made of texts', () => {
    const parsed = tryParseJson('[{"role":"user","content":2512292042121000001},{"role":"assistant","content":7}]');
    expect(readMessages((parsed.ok ? parsed.value : []) as unknown[]).messages).toEqual([
      user('2512292042121000001'),
      assistant('7'),
    ]);
  });
});

describe('the request of a task with a conversation', () => {
  it('is its last message where the task has none, and never a template', () => {
    const { config } = read([user('a'), assistant('b'), user('{{secret}}')], { message_is_template: true });
    expect(config).toMatchObject({ message: '{{secret}}', messages: [user('a'), assistant('b')] });
    expect(config.message_is_template).toBeUndefined();
  });

  it('is meant once where the conversation has it too', () => {
    const { config } = read([assistant('b'), user('Hi')], { message: 'Hi', message_is_template: true });
    expect(config).toMatchObject({ message: 'Hi', messages: [assistant('b')], message_is_template: true });
  });

  it('is meant once whatever was written before it, and whatever spaces are around it', () => {
    const { config } = read([user('There?'), user('Hi')], { message: 'Hi ' });
    expect(config).toMatchObject({ message: 'Hi ', messages: [user('There?')] });
  });

  it('is that of the task where both differ', () => {
    expect(read([user('a')], { message: 'b' }).config).toMatchObject({ message: 'b', messages: [user('a')] });
  });

  it.each([[[]], [[assistant('Hello')]], [[user('  ')]], [[{ role: 'system', content: 'x' }]]])(
    'must be somewhere: %j is refused',
    (messages) => {
      expect(() => read(messages)).toThrow(/config\.message must not be empty/);
    },
  );

  it.each(['Hi', { role: 'user' }, [['a']], ['Hi'], [null]])(
    'is refused with messages that are no list of objects: %j',
    (messages) => {
      expect(() => read(messages, { message: 'Hi' })).toThrow(/config\.messages/);
    },
  );

  it('stands alone where nothing is left of the conversation, and with an empty one', () => {
    expect(read([], { message: 'Hi' }).config.messages).toBeUndefined();
    expect(read([user('Hi')]).config).toMatchObject({ message: 'Hi', messages: undefined });
    expect(read(null, { message: 'Hi' }).config.messages).toBeUndefined();
  });
});

it.each([
  ['the same', () => 'a'],
  [
    'one that others were made of',
    (index: number) => (index < 1200 ? `${'a'.repeat(690)}_${index + 1201}` : 'a'.repeat(690)),
  ],
  ['those that are given', (index: number) => (index < 1200 ? `call_${index + 1}` : 'a')],
])('reads thousands of calls in one go where their id is %s', (_what, idOf) => {
  const probes = jest.spyOn(Set.prototype, 'has');
  const steps = Array.from({ length: 2400 }, (_, index) => ({ role: 'assistant', tool_calls: [call(idOf(index))] }));
  readMessages(steps);
  expect(probes.mock.calls.length).toBeLessThan(30_000);
  probes.mockRestore();
});

it.each([{ a: 10n }, [() => 1, 10n]])('refuses what is not JSON: case %#', (content) => {
  expect(() => read([result('a', content)], { message: 'Hi' })).toThrow(/config\.messages is not JSON/);
});
