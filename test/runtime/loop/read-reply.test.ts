import type { OutputFormat } from '../../../runtime';
import { containing } from '../../support/setup/matchers';
import { asks, aTool, runScript, says } from '../../support/values/loop-script';

const NAME = 'give_answer';
/** Takes JSON with a number under `n`. */
const format: OutputFormat = {
  tool: { name: NAME, description: 'Takes the answer', inputSchema: { type: 'object' } },
  instructions: 'Use the tool.',
  parse: ({ text }) => {
    const match = /^\{"n":(\d+)\}$/.exec(text);
    return Promise.resolve(
      match === null ? { ok: false, issues: 'n is missing' } : { ok: true, value: Number(match[1]) },
    );
  },
};
const input = { format };
const tools = [aTool('add')];
const answers = (text: string): ReturnType<typeof asks> => asks([[NAME, text]]);

it('takes the arguments of the call for the answer, and shows the tool after those of the run', async () => {
  const { outcome, sent, nexts } = await runScript({ tools, input, replies: [answers('{"n":7}')] });
  expect(outcome).toMatchObject({ status: 'completed', text: '{"n":7}', structured: 7, iterations: 1 });
  expect(sent[0]?.tools).toEqual(['add', NAME]);
  expect(nexts).toEqual([]);
});

it('does nothing else that the same reply asks for', async () => {
  const reply = asks([
    ['add', {}],
    [NAME, '{"n":7}'],
    ['add', {}],
  ]);
  const { outcome, toolCalls } = await runScript({ tools, input, replies: [reply] });
  expect(outcome).toMatchObject({ status: 'completed', structured: 7 });
  expect(toolCalls).toEqual([]);
});

it('takes an answer that came as text', async () => {
  const { outcome } = await runScript({ input, replies: [says('{"n":3}')] });
  expect(outcome).toMatchObject({ status: 'completed', structured: 3 });
});

it('tells the model once what is wrong, and leaves that out of the conversation that is kept', async () => {
  const { outcome, sent, nexts } = await runScript({ input, replies: [says('three'), answers('{"n":3}')] });
  expect(outcome).toMatchObject({ status: 'completed', structured: 3, iterations: 2 });
  expect(sent[1]?.messages.slice(-2)).toEqual([
    { role: 'assistant', content: 'three' },
    { role: 'user', content: containing('n is missing') },
  ]);
  expect(nexts).toEqual([2]);
  expect(outcome.said?.map(({ role }) => role)).toEqual(['assistant']);
});

it('fails with what there is when the second answer is wrong too, whatever stands between them', async () => {
  const replies = [says('three'), asks([['add', {}]]), says('four'), says('{"n":4}')].slice(0, 3);
  const { outcome } = await runScript({ tools, input, replies });
  expect(outcome).toMatchObject({
    status: 'failed',
    text: 'four',
    iterations: 3,
    error: { code: 'OUTPUT_INVALID', message: containing('n is missing') },
  });
  expect(outcome.structured).toBeUndefined();
});

it('does not ask a model that declines once more', async () => {
  const { outcome } = await runScript({ input, replies: [says('I cannot.', { finishReason: 'refusal' })] });
  expect(outcome).toMatchObject({
    status: 'failed',
    text: 'I cannot.',
    iterations: 1,
    error: { code: 'OUTPUT_INVALID', message: containing('declined: I cannot.') },
  });
});

it('asks no more than the iterations allow', async () => {
  const { outcome, nexts } = await runScript({ input, limits: { maxIterations: 1 }, replies: [says('three')] });
  expect(outcome).toMatchObject({ status: 'failed', iterations: 1, error: { code: 'OUTPUT_INVALID' } });
  expect(nexts).toEqual([]);
});

const broken = (): never => {
  throw new Error('the parser is broken');
};

it.each([
  ['rejects', () => Promise.resolve().then(broken)],
  ['throws', broken],
])('takes a parser that %s for one that refuses', async (_how, parse) => {
  const { outcome } = await runScript({ input: { format: { ...format, parse } }, replies: [says('a'), says('b')] });
  expect(outcome).toMatchObject({ error: { code: 'OUTPUT_INVALID', message: containing('the parser is broken') } });
});

it('is not held up by a parser that never ends', async () => {
  const controller = new AbortController();
  const parse = (): Promise<never> => {
    controller.abort();
    return new Promise(() => undefined);
  };
  const { outcome } = await runScript({
    input: { format: { ...format, parse }, stop: { signal: controller.signal, error: () => undefined } },
    replies: [says('a')],
  });
  expect(outcome.status).toBe('failed');
});

describe('when the iterations are used up', () => {
  const limits = { maxIterations: 1 };
  const settings = { onMaxIterations: 'finalAnswer' as const };

  it('the last answer may come through the tool that takes it, and no other tool is shown', async () => {
    const replies = [asks([['add', {}]]), answers('{"n":9}')];
    const { outcome, sent } = await runScript({ tools, input, limits, settings, replies });
    expect(outcome).toMatchObject({ status: 'max_iterations', structured: 9 });
    expect(sent[1]).toMatchObject({ tools: [NAME], toolChoice: 'auto' });
    expect(sent[1]?.messages.at(-1)).toMatchObject({ note: containing(`with ${NAME} and no other tool`) });
  });

  it.each([
    ['of another form', says('nine')],
    ['no answer', says(null)],
  ])('one that is %s fails the run', async (_kind, last) => {
    const { outcome } = await runScript({ tools, input, limits, settings, replies: [asks([['add', {}]]), last] });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_INVALID' } });
  });
});

it('shows only the tool that takes the answer to a model that must call none', async () => {
  const { outcome, sent } = await runScript({
    tools,
    input,
    settings: { toolChoice: 'none' },
    replies: [answers('{"n":1}')],
  });
  expect(sent[0]).toMatchObject({ tools: [NAME], toolChoice: 'auto' });
  expect(outcome).toMatchObject({ structured: 1 });
});

it('hides a tool of the run that has the same name', async () => {
  const { sent } = await runScript({ tools: [aTool(NAME)], input, replies: [answers('{"n":1}')] });
  expect(sent[0]?.tools).toEqual([NAME]);
});
