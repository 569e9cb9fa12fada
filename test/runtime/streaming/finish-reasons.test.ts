import { delta, DONE, USAGE } from '../../support/values/stream-chunks';
import { type DialectWorld, openDialectWorld, replies, sends } from '../../support/worlds/dialect-world';

let world: DialectWorld;
beforeAll(async () => {
  world = await openDialectWorld();
});
afterAll(() => world.close());

const call = (args: string): object => ({
  tool_calls: [{ id: 'a', type: 'function', function: { name: 'weather', arguments: args } }],
});
const HALF = { content: 'The first half of' };

/** Whole, in the words of OpenAI, Anthropic, TGI, Gemini, Cohere and Bedrock; or missing. */
const WHOLE = ['stop', 'STOP', 'end_turn', 'eos_token', 'stop_sequence', 'COMPLETE', 'FinishReason.STOP', '', null];

it.each(WHOLE)('takes an answer that ends with %j as whole', async (reason) => {
  expect(await world.alike(replies({ content: 'All of it' }, reason))).toEqual({
    text: 'All of it',
    called: [],
    tokens: 120,
    requests: 1,
  });
});

it.each([...WHOLE, 'tool_calls', 'tool_use', 'function_call', 'TOOL_CALL'])(
  'executes the call of a reply that ends with %j',
  async (reason) => {
    expect(await world.alike(replies(call('{"city":"Rome"}'), reason))).toMatchObject({
      text: 'Done',
      called: ['weather {"city":"Rome"}'],
    });
  },
);

/** Cut, in the words of DeepSeek, Mistral, Z.ai, Gemini, Cohere, vLLM, watsonx, Bedrock and OpenAI. */
const CUT = [
  'insufficient_system_resource',
  'network_error',
  'abort',
  'time_limit',
  'MALFORMED_FUNCTION_CALL',
  'content_filter',
  'SAFETY',
  'sensitive',
  'guardrail_intervened',
];
const TOO_LONG = ['length', 'max_tokens', 'MAX_TOKENS', 'model_length', 'model_context_window_exceeded', 'token_limit'];

it.each(CUT)('says that an answer that ends with %s was cut, and by what', async (reason) => {
  expect(await world.alike(replies(HALF, reason))).toEqual({
    text: HALF.content,
    truncated: true,
    warnings: [`The model provider ended a reply with "${reason}", so it may not be whole.`],
    called: [],
    tokens: 120,
    requests: 1,
  });
});

it.each(TOO_LONG)('says that an answer that ends with %s was cut', async (reason) => {
  expect(await world.alike(replies(HALF, reason))).toEqual({
    text: HALF.content,
    truncated: true,
    called: [],
    tokens: 120,
    requests: 1,
  });
});

it.each(['other', 'LANGUAGE', 'brand_new_reason', '停止'])('warns of an answer that ends with %s', async (reason) => {
  const outcome = await world.alike(replies(HALF, reason));
  expect(outcome).toMatchObject({ text: HALF.content, requests: 1 });
  expect(outcome.warnings).toEqual([`The model provider ended a reply with "${reason}", so it may not be whole.`]);
});

it.each([...CUT, ...TOO_LONG, 'brand_new_reason'])(
  'executes no call of a reply that ends with %s, and tells the model',
  async (reason) => {
    for (const args of ['{"city":"Ro"}', '{"city":"Ro'])
      expect(await world.alike(replies(call(args), reason))).toMatchObject({ text: 'Done', called: [], requests: 2 });
    const told = world.models.received.at(-1)?.messages.at(-1)?.content;
    expect(told).toContain(TOO_LONG.includes(reason) ? 'TOOL_ARGUMENTS_TRUNCATED' : 'TOOL_CALL_INCOMPLETE');
  },
);

it('believes a later reason that says that the reply is not whole', async () => {
  for (const [first, second] of [
    ['length', 'stop'],
    ['stop', 'length'],
  ] as const) {
    const text = delta({ content: 'Half' }, first) + delta({}, second) + USAGE + DONE;
    expect(await world.outcomeOf(sends(text))).toMatchObject({ text: 'Half', truncated: true });
  }
});

it.each(['', 'null', 'FINISH_REASON_UNSPECIFIED', 'not_finished'])(
  'does not take a stream that breaks off behind %j for an answer',
  async (reason) => {
    const cut = sends(delta({ content: 'The first ' }, reason) + delta({ content: 'half' }, reason));
    expect(await world.outcomeOf(cut)).toMatchObject({ code: 'LLM_UNAVAILABLE', requests: 1 });
  },
);

describe('a refusal', () => {
  const WORDS = 'I cannot help with that.';

  it.each([
    ['without content', { content: null, refusal: WORDS }, WORDS],
    ['with empty content', { content: '', refusal: WORDS }, WORDS],
    ['behind text', { content: 'Well.', refusal: WORDS }, `Well.\n\n${WORDS}`],
    ['as a part of the content', { content: [{ type: 'refusal', refusal: WORDS }] }, WORDS],
  ])('%s is the answer', async (_where, message, text) => {
    expect(await world.alike(replies(message))).toEqual({ text, called: [], tokens: 120, requests: 1 });
  });

  it('that is empty is none', async () => {
    expect(await world.alike(replies({ content: 'Hello', refusal: '' }))).toMatchObject({ text: 'Hello' });
  });

  it('comes piece by piece in the order in which it is shown', async () => {
    const pieces = [{ content: 'Well.' }, { refusal: 'I ' }, { refusal: 'cannot.' }, { content: ' Sorry.' }];
    const text = pieces.map((piece) => delta(piece)).join('') + delta({}, 'stop') + USAGE + DONE;
    const expected = 'Well.\n\nI cannot. Sorry.';
    expect(await world.outcomeOf(sends(text))).toMatchObject({ text: expected, shown: expected });
  });
});
