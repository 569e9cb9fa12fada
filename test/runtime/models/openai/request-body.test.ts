import type { ModelRequest } from '../../../../runtime/contracts/model';
import { requestBody } from '../../../../runtime/models/openai/request-body';
import { aModelRequest } from '../../../support/values/model-request';

const tool = { name: 'add', description: 'Adds', inputSchema: { type: 'object', $defs: { n: { type: 'number' } } } };
const bodyOf = (rest?: Partial<ModelRequest>): unknown => JSON.parse(requestBody(aModelRequest(rest)));

it('names neither tools nor tool_choice when there are none, whatever the choice', () => {
  expect(bodyOf({ toolChoice: 'required', parallelToolCalls: false })).toEqual({
    model: 'test/model',
    messages: [{ role: 'user', content: 'Hi' }],
  });
});

it('passes the schema of a tool on as it is', () => {
  expect(bodyOf({ tools: [tool] })).toMatchObject({
    tools: [{ type: 'function', function: { name: 'add', description: 'Adds', parameters: tool.inputSchema } }],
    tool_choice: 'auto',
  });
});

it('forbids parallel calls only when asked to', () => {
  expect(bodyOf({ tools: [tool], parallelToolCalls: false })).toMatchObject({ parallel_tool_calls: false });
  expect(bodyOf({ tools: [tool] })).not.toHaveProperty('parallel_tool_calls');
});

it('sends temperature 0 and leaves out what is not set', () => {
  expect(bodyOf({ temperature: 0, maxTokens: 5 })).toMatchObject({ temperature: 0, max_tokens: 5 });
  expect(bodyOf()).not.toHaveProperty('temperature');
});

it.each([
  ['gpt-5-mini', 'max_completion_tokens'],
  ['o3', 'max_completion_tokens'],
  ['gpt-5-chat-latest', 'max_tokens'],
  ['openai/gpt-5-mini', 'max_tokens'],
])('limits the answer of %s by %s', (modelId, name) => {
  expect(bodyOf({ modelId, maxTokens: 5 })).toHaveProperty(name, 5);
});

it('follows a transcript that grows', () => {
  const messages: { role: 'user'; content: string }[] = [{ role: 'user', content: 'one' }];
  expect(bodyOf({ messages })).toMatchObject({ messages: [{ content: 'one' }] });
  messages.push({ role: 'user', content: 'two "quoted" \u2028' });
  expect(bodyOf({ messages })).toMatchObject({ messages: [{ content: 'one' }, { content: 'two "quoted" \u2028' }] });
});

it("gives a message's own fields to the model that it came from, and to no other", () => {
  const call = { id: 'a', type: 'function', function: { name: 'add', arguments: '{}' } } as const;
  const signed = { ...call, original: { call: { extra: { s: 1 } }, function: { signature: 'x' } } };
  const original = { from: 'me', fields: { opaque: 'y' } };
  const request = aModelRequest({ messages: [{ role: 'assistant', content: null, tool_calls: [signed], original }] });
  const sentTo = (to: string): unknown => (JSON.parse(requestBody(request, to)) as { messages: unknown[] }).messages[0];
  const own = {
    ...{ role: 'assistant', content: null, opaque: 'y' },
    tool_calls: [{ ...call, extra: { s: 1 }, function: { ...call.function, signature: 'x' } }],
  };
  expect(['me', 'another', 'me'].map(sentTo)).toEqual([
    own,
    { role: 'assistant', content: null, tool_calls: [call] },
    own,
  ]);
});
