import type { ModelRequest } from '../../../runtime/contracts/model';
import { requestBody } from '../../../runtime/models/request-body';

const tool = { name: 'add', description: 'Adds', inputSchema: { type: 'object', $defs: { n: { type: 'number' } } } };
const request = (rest: Partial<ModelRequest> = {}): ModelRequest => ({
  modelId: 'test/model',
  messages: [{ role: 'user', content: 'Hi' }],
  tools: [],
  toolChoice: 'auto',
  parallelToolCalls: true,
  timeoutMs: 1000,
  signal: new AbortController().signal,
  attempts: { sent: 0, answered: 0 },
  ...rest,
});
const bodyOf = (rest?: Partial<ModelRequest>): unknown => JSON.parse(requestBody(request(rest)));

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

it('follows a transcript that grows', () => {
  const messages: { role: 'user'; content: string }[] = [{ role: 'user', content: 'one' }];
  expect(bodyOf({ messages })).toMatchObject({ messages: [{ content: 'one' }] });
  messages.push({ role: 'user', content: 'two "quoted" \u2028' });
  expect(bodyOf({ messages })).toMatchObject({ messages: [{ content: 'one' }, { content: 'two "quoted" \u2028' }] });
});
