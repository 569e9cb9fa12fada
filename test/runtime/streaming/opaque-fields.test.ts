import { isJsonObject, type JsonObject } from '../../../runtime/util/json';
import { delta, DONE, USAGE } from '../../support/values/stream-chunks';
import { type DialectWorld, openDialectWorld, replies, sends } from '../../support/worlds/dialect-world';

let world: DialectWorld;
beforeAll(async () => {
  world = await openDialectWorld();
});
afterAll(() => world.close());

const ROME = '{"city":"Rome"}';
const call = (more: object = {}, id = 'a'): object => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: ROME },
  ...more,
});

/** What the second request gave back of the first reply. */
function givenBack(): readonly JsonObject[] {
  const messages = world.models.received.at(-1)?.messages ?? [];
  return messages.slice(-2).filter(isJsonObject);
}

/** In both forms. */
async function afterReply(message: object): Promise<readonly JsonObject[]> {
  const outcome = await world.alike([replies(message, 'tool_calls')]);
  expect(outcome).toMatchObject({ text: 'Done', called: [`weather ${ROME}`], requests: 2 });
  return givenBack();
}

const SIGNATURE = { google: { thought_signature: 'AbCd/SIGNATURE==' } };

it.each([
  ['Gemini', { extra_content: SIGNATURE }],
  ['LiteLLM', { provider_specific_fields: { thought_signature: 'AbCd/SIGNATURE==' } }],
  ['no known provider', { a: 1, b: ['x', null], c: { d: '\ud83d\ude00 "\\\u2028' } }],
])('gives a call its fields of %s back', async (_who, fields) => {
  const [message] = await afterReply({ content: null, tool_calls: [call(fields)] });
  expect(message?.tool_calls).toEqual([call(fields)]);
});

it('gives fields of the function back', async () => {
  const fn = { name: 'weather', arguments: ROME, thought_signature: 'xyz' };
  const [message] = await afterReply({ content: null, tool_calls: [call({ function: fn })] });
  expect(message?.tool_calls).toEqual([call({ function: fn })]);
});

it.each([
  ['text', { reasoning_opaque: 'c2lnbmF0dXJl' }],
  ['an object', { extra_content: SIGNATURE }],
  ['blocks', { thinking_blocks: [{ type: 'thinking', thinking: 'Let me see', signature: 'sig' }] }],
])("gives a message's own field back that is %s", async (_what, fields) => {
  const [message] = await afterReply({ content: 'Hm', ...fields, tool_calls: [call()] });
  expect(message).toEqual({ role: 'assistant', content: 'Hm', tool_calls: [call()], ...fields });
});

it('gives back neither what is empty nor what is for readers only', async () => {
  const shown = { annotations: [{ type: 'url_citation' }], audio: { id: 'x' }, images: ['x'], name: 'A model' };
  const empty = { function_call: null, prefix: false, extra_content: {}, audio_content: '' };
  const [message] = await afterReply({ content: null, refusal: null, ...shown, ...empty, tool_calls: [call()] });
  expect(message).toEqual({ role: 'assistant', content: null, tool_calls: [call()] });
});

it.each([619, 20_000])('gives back an id of %i characters, in the call and in its result', async (length) => {
  const id = `call_abc__thought__${'A1b2'.repeat(length)}`.slice(0, length);
  const [message, result] = await afterReply({ content: null, tool_calls: [call({}, id)] });
  expect(message?.tool_calls).toEqual([call({}, id)]);
  expect(result).toMatchObject({ role: 'tool', tool_call_id: id });
});

describe('in a stream', () => {
  const head = { index: 0, id: 'a', type: 'function', function: { name: 'weather', arguments: '' } };
  const more = { index: 0, function: { arguments: ROME } };
  const signed = { extra_content: SIGNATURE };

  it.each([
    ['the head', [{ ...head, ...signed }, more]],
    ['a piece of the arguments', [head, { ...more, ...signed }]],
    ['a piece of its own', [head, more, { index: 0, ...signed }]],
    ['a piece of its own without index', [head, more, signed]],
    ['the call once more', [head, more, call(signed)]],
    [
      'the head, and is null later',
      [
        { ...head, ...signed },
        { ...more, extra_content: null },
      ],
    ],
  ])('comes back if it came with %s', async (_which, pieces) => {
    const chunks = pieces.map((piece) => delta({ tool_calls: [piece] })).join('');
    const outcome = await world.outcomeOf(sends(chunks + delta({}, 'tool_calls') + USAGE + DONE));
    expect(outcome).toMatchObject({ text: 'Done', called: [`weather ${ROME}`], requests: 2 });
    expect(givenBack()[0]?.tool_calls).toEqual([call(signed)]);
  });

  it('stays with its own call', async () => {
    const pieces = ['a', 'b'].map((id, index) => ({ ...call({ extra_content: { id } }, id), index }));
    const chunks = pieces.map((piece) => delta({ tool_calls: [piece] })).join('');
    await world.outcomeOf(sends(chunks + delta({}, 'tool_calls') + USAGE + DONE));
    const messages = world.models.received.at(-1)?.messages ?? [];
    expect(messages.find(({ role }) => role === 'assistant')?.tool_calls).toEqual(
      ['a', 'b'].map((id) => call({ extra_content: { id } }, id)),
    );
  });

  it("joins the pieces of a message's blocks", async () => {
    const block = (fields: object): string => delta({ thinking_blocks: [{ type: 'thinking', ...fields }] });
    const chunks =
      block({ thinking: 'Let me ' }) + block({ thinking: 'see' }) + block({ thinking: '', signature: 's' });
    const calls = delta({ tool_calls: [{ ...call(), index: 0 }] });
    await world.outcomeOf(sends(chunks + calls + delta({}, 'tool_calls') + USAGE + DONE));
    expect(givenBack()[0]).toMatchObject({
      thinking_blocks: [{ type: 'thinking', thinking: 'Let me see', signature: 's' }],
    });
  });
});
