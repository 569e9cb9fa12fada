import '../../../support/setup/errors-of-node';

import type { ContentPart, Message } from '../../../../runtime';
import { mistral, refusing, type Rules, template } from '../../../support/servers/refusing-providers';
import { call } from '../../../support/values/stream-chunks';
import { type Answer, type DialectWorld, openDialectWorld, replies } from '../../../support/worlds/dialect-world';

let world: DialectWorld;

beforeEach(async () => {
  world = await openDialectWorld();
});
afterEach(() => world.close());

const done = replies({ content: 'Done' });
const both = [call('first1234', 'weather', '{"city":"Rome"}'), call('second123', 'weather', '{"city":"Oslo"}')];
const asks = replies({ content: null, tool_calls: both }, 'tool_calls');

function provider(rules: Rules, maxResults = 1): readonly Answer[] {
  const answer: Answer = (response, request) =>
    (request.messages.filter(({ role }) => role === 'tool').length < maxResults ? asks : done)(response, request);
  return Array.from({ length: 20 }, () => refusing(rules, answer));
}

const TEMPLATES: [string, Rules][] = [
  ['the API of Mistral', mistral],
  ['a chat template', template],
];

it.each(TEMPLATES)('%s takes the reminder of the one-tool rule', async (_what, rules) => {
  const outcome = await world.alike(provider(rules), { tool_execution: 'single', system_prompt: 'Be short.' });
  expect(outcome).toMatchObject({ text: 'Done', called: ['weather {"city":"Rome"}'], requests: 2 });
});

it.each(TEMPLATES)('%s takes the request for the final answer', async (_what, rules) => {
  const config = { max_iterations: 1, on_max_iterations: 'finalAnswer', system_prompt: 'Be short.' };
  expect(await world.alike(provider(rules), config)).toMatchObject({ text: 'Done', requests: 2 });
});

/** What a memory may hold: two messages of the user in a row, results without an answer, a summary in the middle. */
const HISTORY: readonly Message[] = [
  { role: 'user', content: 'Hello' },
  { role: 'user', content: 'Are you there?' },
  { role: 'system', content: 'The user is called Ada.' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_with_a_long_id', type: 'function', function: { name: 'weather', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'call_with_a_long_id', content: '"fine"' },
  { role: 'user', content: 'And now?' },
];
const memory = { load: () => Promise.resolve(HISTORY), save: () => Promise.resolve() };

it.each(TEMPLATES)('%s takes a history in any order, and remembers how', async (_what, rules) => {
  const options = { config: { system_prompt: 'Be short.' }, connected: { memory } };
  const first = await world.outcomeOf(provider(rules, 3), options);
  expect(first).toMatchObject({ text: 'Done' });
  expect(first.warnings).toBeUndefined();
  const again = await world.outcomeOf(provider(rules, 3), options);
  expect(again).toMatchObject({ text: 'Done', requests: 2 });
  expect(world.models.received.at(-1)?.messages[0]).toEqual({
    role: 'system',
    content: 'Be short.\n\nThe user is called Ada.',
  });
});

it('sends content in parts as the text that they make, since not all providers take parts', async () => {
  const part = (text: string): ContentPart => ({ type: 'text', text });
  const parts: readonly Message[] = [
    { role: 'system', content: [part('Be '), part('short.')] },
    { role: 'user', content: [part('Where is '), part('my order?')] },
    { role: 'assistant', content: [part('On its '), part('way.')] },
  ];
  const memory = { load: () => Promise.resolve(parts), save: () => Promise.resolve() };
  expect(await world.outcomeOf(provider(mistral), { connected: { memory } })).toMatchObject({ text: 'Done' });
  expect(world.models.received.at(-1)?.messages.slice(0, 3)).toEqual([
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: 'Where is my order?' },
    { role: 'assistant', content: 'On its way.' },
  ]);
});

it('puts the system prompt into the message of the user where a model takes none', async () => {
  const noSystem: Rules = ({ messages }) =>
    messages.some(({ role }) => role === 'system')
      ? { status: 400, body: { error: { message: 'System role not supported' } } }
      : undefined;
  const outcome = await world.outcomeOf(provider(noSystem, 0), { config: { system_prompt: 'Be short.' } });
  expect(outcome).toMatchObject({ text: 'Done', requests: 2 });
  expect(world.models.received.at(-1)?.messages).toMatchObject([{ role: 'user', content: 'Be short.\n\nGo' }]);
});

it.each([
  ['OpenAI', "Invalid value for 'content': expected a string, got null."],
  ['Ollama', 'invalid message content type: <nil>'],
  ['TGI', 'Failed to deserialize the JSON body into the target type: messages[1]: missing field `content` at line 1'],
  ['LM Studio', "Invalid 'content': 'content' field must be a string or an array of objects."],
  ['SGLang', 'messages.1.content.str\n  Input should be a valid string'],
])('writes a text where %s refuses messages without one', async (_whose, message) => {
  const rules: Rules = ({ messages }) =>
    messages.some(({ content }) => content === null) ? { status: 400, body: { error: { message } } } : undefined;
  expect(await world.outcomeOf(provider(rules))).toMatchObject({ text: 'Done', requests: 3 });
});

it('writes words where an empty text is refused', async () => {
  const rules: Rules = ({ messages }) =>
    messages.some(({ content }) => (content ?? '') === '')
      ? { status: 400, body: { error: { message: 'messages: text content blocks must be non-empty' } } }
      : undefined;
  expect(await world.outcomeOf(provider(rules))).toMatchObject({ text: 'Done', requests: 3 });
});

it('keeps its own words to the model out of the memory', async () => {
  const saved: Message[] = [];
  const empty = {
    load: () => Promise.resolve([]),
    save: (turn: readonly Message[]) => Promise.resolve(void saved.push(...turn)),
  };
  const config = { max_iterations: 1, on_max_iterations: 'finalAnswer', tool_execution: 'single' };
  await world.outcomeOf(provider(mistral), { config, connected: { memory: empty } });
  expect(world.models.received.at(-1)?.messages.at(-1)?.content).toMatch(
    /"fine"\n\n\[Not from the tool: You have used/,
  );
  expect(saved.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(JSON.stringify(saved)).not.toContain('Not from the tool');
  expect(saved[2]).toEqual({ role: 'tool', tool_call_id: 'first1234', content: '"fine"' });
});
