import type { Message } from '../../../runtime/contracts/message';
import { RuntimeError } from '../../../runtime/errors/runtime-error';
import { createToolset } from '../../../runtime/tools/combine-toolsets';
import { containing, matching } from '../../support/setup/matchers';
import { asks, aTool, failingTool, runScript, says, toldCodes } from '../../support/values/loop-script';
import { usageOf } from '../../support/values/usage-of';

describe('the transcript', () => {
  it('holds the assistant message with its calls, then one tool message for each id, in order', async () => {
    const { sent } = await runScript({
      tools: [aTool('add'), aTool('sub')],
      replies: [
        asks([
          ['add', { a: 1 }, 'x'],
          ['sub', { b: 2 }, 'y'],
          ['add', { a: 3 }, 'z'],
        ]),
        says('Done'),
      ],
    });
    const [, second] = sent;
    expect(second?.messages.map(outline)).toEqual(['user', 'assistant x y z', 'tool x', 'tool y', 'tool z']);
    expect(second?.messages.slice(2).map((message) => message.content)).toEqual(['{"a":1}', '{"b":2}', '{"a":3}']);
  });

  it('keeps the steps before in front of the new ones', async () => {
    const { sent } = await runScript({
      tools: [aTool('add')],
      replies: [asks([['add', {}, 'x']]), asks([['add', {}, 'y']]), says('Done')],
    });
    expect(sent[2]?.messages.map(outline)).toEqual(['user', 'assistant x', 'tool x', 'assistant y', 'tool y']);
  });

  it('gives reasoning blocks back unchanged', async () => {
    const reply = asks([['add', {}, 'x']]);
    const withReasoning = { ...reply, message: { ...reply.message, reasoning_details: [{ type: 'a', data: 'b' }] } };
    const { sent } = await runScript({ tools: [aTool('add')], replies: [withReasoning, says('Done')] });
    expect(sent[1]?.messages[1]).toMatchObject({ reasoning_details: [{ type: 'a', data: 'b' }] });
  });

  it('writes a name that no provider would take back so that the next request is not refused', async () => {
    const run = await runScript({
      tools: [aTool('find_orders')],
      replies: [
        asks([
          ['functions.find orders', {}, 'x'],
          [`long${'x'.repeat(100)}`, {}, 'y'],
          ['', {}, 'z'],
        ]),
        says('Done'),
      ],
    });
    expect(toldCodes(run)).toEqual(['TOOL_NOT_FOUND', 'TOOL_NOT_FOUND', 'TOOL_NOT_FOUND']);
    expect(run.sent[1]?.messages[2]?.content).toContain('functions.find orders');
    const [, assistant] = run.sent[1]?.messages ?? [];
    const names =
      assistant !== undefined && 'tool_calls' in assistant
        ? assistant.tool_calls?.map((call) => call.function.name)
        : [];
    expect(names).toEqual(['functions_find_orders', matching(/^longx{60}$/), '_']);
  });
});

describe('the answer', () => {
  it('is the text of the first reply that asks for no tool', async () => {
    const { outcome } = await runScript({ replies: [says('  Hello \n')] });
    expect(outcome).toMatchObject({ status: 'completed', text: 'Hello', iterations: 1, truncated: false });
  });

  it('leaves out what the model thought, closed or not', async () => {
    const closed = await runScript({ replies: [says('<think>Let me\nsee</think>\nFour <think>hm</think>apples')] });
    expect(closed.outcome.text).toBe('Four apples');
    const open = await runScript({ replies: [says('<think>No end'), says('Four')] });
    expect(open.outcome).toMatchObject({ text: 'Four', iterations: 2 });
  });

  it('is marked as truncated when the token limit cut it', async () => {
    const { outcome } = await runScript({ replies: [says('Half an ans', { finishReason: 'length' })] });
    expect(outcome).toMatchObject({ status: 'completed', truncated: true });
  });

  it('may come with tool calls, which are executed all the same', async () => {
    const reply = asks([['add', {}, 'x']]);
    const { outcome } = await runScript({
      tools: [aTool('add')],
      replies: [{ ...reply, message: { ...reply.message, content: 'One moment' } }, says('Done')],
    });
    expect(outcome).toMatchObject({ text: 'Done', iterations: 2 });
    expect(outcome.steps[0]?.toolCalls).toHaveLength(1);
  });
});

describe('an empty reply', () => {
  it('ends the run at once when the content filter made it', async () => {
    const { outcome } = await runScript({ replies: [says(null, { finishReason: 'content-filter' })] });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'LLM_CONTENT_FILTERED' } });
  });

  it('between two steps does not count as the second in a row', async () => {
    const { outcome } = await runScript({
      tools: [aTool('add')],
      replies: [says(''), asks([['add']]), says(''), says('Done')],
    });
    expect(outcome).toMatchObject({ status: 'completed', iterations: 4 });
  });
});

describe('a failure outside the tools', () => {
  it('of the model ends the run with its code, and keeps the steps before', async () => {
    const { outcome, ended, nexts } = await runScript({
      tools: [aTool('add')],
      replies: [asks([['add']]), new RuntimeError('LLM_RATE_LIMITED', { reason: 'slow down' })],
    });
    expect(outcome).toMatchObject({ status: 'failed', iterations: 2, error: { code: 'LLM_RATE_LIMITED' } });
    expect(outcome.steps).toHaveLength(1);
    expect(ended.map((call) => [call.step, call.error?.code])).toEqual([
      [1, undefined],
      [2, 'LLM_RATE_LIMITED'],
    ]);
    expect(nexts).toEqual([2]);
  });

  it('of any other kind becomes INTERNAL_ERROR', async () => {
    const { outcome } = await runScript({ replies: [new TypeError('undefined is not a function')] });
    expect(outcome.error).toMatchObject({
      code: 'INTERNAL_ERROR',
      message: containing('undefined is not'),
    });
  });

  it('to write down a step ends the run before its tools run', async () => {
    let executed = 0;
    const tool = aTool('add', (value) => {
      executed++;
      return Promise.resolve({ isError: false, value });
    });
    const { outcome } = await runScript({
      tools: [tool],
      replies: [asks([['add']])],
      observer: { beforeToolCalls: () => Promise.reject(new RuntimeError('RUN_TAKEN_OVER', { taskId: 't' })) },
    });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'RUN_TAKEN_OVER' } });
    expect(executed).toBe(0);
  });
});

describe('tools that fail step after step', () => {
  it('may go on as long as one call in a step goes well', async () => {
    const { outcome } = await runScript({
      tools: [failingTool('bad'), aTool('good')],
      limits: { maxErrorSteps: 2 },
      replies: [asks([['bad']]), asks([['bad'], ['good']]), asks([['bad']]), says('Done')],
    });
    expect(outcome.status).toBe('completed');
  });
});

describe('a step that is prepared', () => {
  const before = { messages: [], openingLength: 0, steps: [], iterations: 1, callCounts: {}, approvals: {} };

  it('has the toolset that it is given, for what the model is shown and for what it may call', async () => {
    const onlyAdd = createToolset([aTool('add')]);
    const run = await runScript({
      tools: [aTool('add'), aTool('sub')],
      replies: [asks([['sub', {}, 'x']]), asks([['sub', {}, 'y']]), asks([['sub', {}, 'z']]), says('Done')],
      observer: { prepareStep: ({ steps }) => (steps.length === 1 ? { toolset: onlyAdd } : {}) },
    });
    expect(run.sent.map(({ tools }) => tools)).toEqual([['add', 'sub'], ['add'], ['add', 'sub'], ['add', 'sub']]);
    expect(toldCodes(run)).toEqual([undefined, 'TOOL_NOT_FOUND', undefined]);
  });

  it('has it for the calls that a run goes on with, too', async () => {
    const { message } = asks([['sub', {}, 'x']]);
    const pending = {
      step: 1,
      finishReason: 'tool-calls',
      durationMs: 0,
      message,
      wereDropped: false,
      sent: [],
    } as const;
    const { outcome } = await runScript({
      tools: [aTool('sub')],
      replies: [says('Done')],
      input: { start: { messages: [], progress: { ...before, pending: { ...pending, outcomes: {} } } } },
      observer: { prepareStep: () => ({ toolset: createToolset([]) }) },
    });
    expect(outcome.steps[0]?.toolCalls[0]?.outcome?.code).toBe('TOOL_NOT_FOUND');
  });

  it('does not keep a run that was cancelled', async () => {
    const controller = new AbortController();
    const prepareStep = (): Promise<never> => {
      controller.abort();
      return new Promise(() => undefined);
    };
    const stop = { signal: controller.signal, error: () => new RuntimeError('RUN_CANCELLED') };
    const { outcome } = await runScript({ replies: [], observer: { prepareStep }, input: { stop } });
    expect(outcome.status).toBe('cancelled');
  });

  it('ends the run where it cannot be prepared, before the model is asked', async () => {
    const prepareStep = (): Promise<never> => Promise.reject(new RuntimeError('TENANT_INACTIVE', { tenantId: 't' }));
    const { outcome, sent } = await runScript({ replies: [], observer: { prepareStep } });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'TENANT_INACTIVE' } });
    expect(sent).toEqual([]);
  });
});

it('emits what happens, in order, and nothing that a tool was told or said', async () => {
  const { events } = await runScript({
    tools: [aTool('add')],
    replies: [
      asks([['add', { secret: 'CANARY-1' }, 'x']], {
        usage: usageOf(7, 3),
      }),
      says('Done'),
    ],
  });
  expect(events.map((event) => event.type)).toEqual([
    'step-start',
    'tool-call',
    'tool-result',
    'step-end',
    'step-start',
    'step-end',
  ]);
  expect(events[3]).toEqual({ type: 'step-end', step: 1, promptTokens: 7, completionTokens: 3 });
  expect(JSON.stringify(events)).not.toContain('CANARY');
});

/** `assistant x y`, `tool x`, `user`. */
function outline(message: Message): string {
  if ('tool_calls' in message) return ['assistant', ...(message.tool_calls ?? []).map((call) => call.id)].join(' ');
  return 'tool_call_id' in message ? `tool ${message.tool_call_id}` : message.role;
}
