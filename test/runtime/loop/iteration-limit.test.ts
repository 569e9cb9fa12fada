import { containing } from '../../support/setup/matchers';
import { asks, aTool, runScript, says } from '../../support/values/loop-script';

const again = (): ReturnType<typeof asks> => asks([['add', { n: 1 }]]);
const tools = [aTool('add')];

it('ends with an error that names the limit after exactly so many model calls', async () => {
  const { outcome } = await runScript({ tools, limits: { maxIterations: 2 }, replies: [again(), again()] });
  expect(outcome).toMatchObject({
    status: 'max_iterations',
    iterations: 2,
    error: { code: 'MAX_ITERATIONS_REACHED', message: containing('all 2 iterations') },
  });
  expect(outcome.steps.map((step) => step.toolCalls.length)).toEqual([1, 1]);
});

it('answers on the last allowed call as on any other', async () => {
  const { outcome } = await runScript({ tools, limits: { maxIterations: 2 }, replies: [again(), says('Done')] });
  expect(outcome).toMatchObject({ status: 'completed', text: 'Done', iterations: 2 });
  expect(outcome.error).toBeUndefined();
});

it('gives what there is when a partial answer is enough', async () => {
  const last = again();
  const { outcome } = await runScript({
    tools,
    limits: { maxIterations: 2 },
    settings: { onMaxIterations: 'partial' },
    replies: [again(), { ...last, message: { ...last.message, content: 'So far: 3' } }],
  });
  expect(outcome).toMatchObject({ status: 'max_iterations', text: 'So far: 3', iterations: 2 });
  expect(outcome.error).toBeUndefined();
});

it('asks for one final answer without tools, after the last results, and counts that call', async () => {
  const { outcome, sent, nexts } = await runScript({
    tools,
    limits: { maxIterations: 2 },
    settings: { onMaxIterations: 'finalAnswer' },
    replies: [again(), again(), says('In short: 3')],
  });
  expect(outcome).toMatchObject({ status: 'max_iterations', text: 'In short: 3', iterations: 3 });
  expect(sent[2]?.toolChoice).toBe('none');
  expect(sent[2]?.messages.at(-2)?.role).toBe('assistant');
  expect(sent[2]?.messages.at(-1)).toMatchObject({ role: 'tool', note: containing('Answer now') });
  expect(nexts).toEqual([2, 3]);
});

it('gives the last text there was, with a warning, when the final answer is none', async () => {
  const first = again();
  const { outcome } = await runScript({
    tools,
    limits: { maxIterations: 2 },
    settings: { onMaxIterations: 'finalAnswer' },
    replies: [{ ...first, message: { ...first.message, content: 'So far: 3' } }, again(), again()],
  });
  expect(outcome).toMatchObject({
    status: 'max_iterations',
    text: 'So far: 3',
    warnings: [{ code: 'FINAL_ANSWER_MISSING' }],
  });
  expect(outcome.error).toBeUndefined();
});

it('tells that no call follows the last one, so that none is opened in the ledger', async () => {
  const { nexts } = await runScript({ tools, limits: { maxIterations: 2 }, replies: [again(), again()] });
  expect(nexts).toEqual([2, undefined]);
});

describe('tool choice', () => {
  it('required holds for the first call only', async () => {
    const { sent } = await runScript({
      tools,
      settings: { toolChoice: 'required' },
      replies: [again(), again(), says('Done')],
    });
    expect(sent.map((request) => request.toolChoice)).toEqual(['required', 'auto', 'auto']);
  });

  it('none executes nothing, whatever the model asks for', async () => {
    const reply = again();
    const { outcome, sent } = await runScript({
      tools,
      settings: { toolChoice: 'none' },
      replies: [{ ...reply, message: { ...reply.message, content: 'I would add' } }],
    });
    expect(sent[0]?.toolChoice).toBe('none');
    expect(outcome).toMatchObject({ status: 'completed', text: 'I would add' });
    expect(outcome.steps[0]?.toolCalls).toEqual([]);
  });
});
