import type { ToolOutput } from '../../../runtime/contracts/tools/tool-shapes';
import { RuntimeError } from '../../../runtime/errors/runtime-error';
import { guardTool } from '../../../runtime/permissions/guard-tool';
import { readPermission } from '../../../runtime/permissions/read-tool-rules';
import { outputFormat } from '../../../runtime/run/plan/output-format';
import { containing } from '../../support/setup/matchers';
import { asks, aTool, runScript, says, toldCodes } from '../../support/values/loop-script';
import { until } from '../../support/values/until';

/** A tool that runs until it is let go, and that knows how many ran at the same time. */
function slowTool(): { tool: ReturnType<typeof aTool>; waiting: (() => void)[]; most: () => number; order: unknown[] } {
  const waiting: (() => void)[] = [];
  const order: unknown[] = [];
  let most = 0;
  let running = 0;
  const tool = aTool('slow', async (value) => {
    order.push(value.n ?? null);
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => waiting.push(resolve));
    running--;
    return { isError: false, value };
  });
  return { tool, waiting, most: () => most, order };
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const three = asks([
  ['slow', { n: 0 }],
  ['slow', { n: 1 }],
  ['slow', { n: 2 }],
]);

describe('parallel execution', () => {
  it('has all calls of a step under way at once and gives the results in the order the model asked', async () => {
    const slow = slowTool();
    const running = runScript({ tools: [slow.tool], replies: [three, says('Done')] });
    await until(() => slow.waiting.length === 3);
    for (const release of slow.waiting.reverse()) {
      release();
      await tick();
    }
    const { outcome, sent } = await running;
    expect(slow.most()).toBe(3);
    expect(outcome.steps[0]?.toolCalls.map((call) => call.outcome?.value)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
    expect(sent[1]?.messages.slice(2).map((message) => message.content)).toEqual(['{"n":0}', '{"n":1}', '{"n":2}']);
  });
});

it('sequential execution starts a call when the one before has ended', async () => {
  const slow = slowTool();
  const running = runScript({
    tools: [slow.tool],
    settings: { toolExecution: 'sequential' },
    replies: [three, says('Done')],
  });
  for (let released = 0; released < 3; released++) {
    await until(() => slow.waiting.length > 0);
    slow.waiting.shift()?.();
  }
  const { sent } = await running;
  expect(slow.most()).toBe(1);
  expect(slow.order).toEqual([0, 1, 2]);
  expect(sent[0]?.parallelToolCalls).toBe(true);
});

describe('single mode', () => {
  const settings = { toolExecution: 'single' } as const;

  it('executes the first call only, keeps only it in the transcript, and reminds the model', async () => {
    const { outcome, sent } = await runScript({
      tools: [aTool('add')],
      settings,
      replies: [
        asks([
          ['add', { n: 1 }, 'x'],
          ['add', { n: 2 }, 'y'],
        ]),
        says('Done'),
      ],
    });
    expect(outcome.steps[0]?.toolCalls.map((call) => call.arguments)).toEqual([{ n: 1 }]);
    expect(sent[0]?.parallelToolCalls).toBe(false);
    const [, assistant, result, ...more] = sent[1]?.messages ?? [];
    expect(assistant).toMatchObject({ tool_calls: [{ id: 'x' }] });
    expect(assistant).not.toMatchObject({ tool_calls: [{}, {}] });
    expect(result).toMatchObject({ role: 'tool', tool_call_id: 'x', note: containing('one tool at a time') });
    expect(more).toEqual([]);
  });

  it('says nothing to a model that keeps the rule', async () => {
    const { sent } = await runScript({ tools: [aTool('add')], settings, replies: [asks([['add']]), says('Done')] });
    expect(sent[1]?.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool']);
  });
});

const broken = (): never => {
  throw new Error('broken check');
};
const brokenTool = { ...aTool('add'), parseInput: broken };

it('arguments on which the check itself breaks are refused', async () => {
  const run = await runScript({ tools: [brokenTool], replies: [asks([['add']]), says('Done')] });
  expect(toldCodes(run)).toEqual(['TOOL_INVALID_ARGS']);
});

it('so are those on which the check of a tool that has just changed breaks', async () => {
  const changed = new Map([['add-0', { kind: 'changed', tool: brokenTool } as const]]);
  const run = await runScript({
    tools: [aTool('add')],
    replies: [asks([['add']]), says('Done')],
    observer: { beforeToolCalls: () => Promise.resolve(changed) },
  });
  expect(toldCodes(run)).toEqual(['TOOL_INVALID_ARGS']);
});

it.each([
  ['says so in its own words', broken],
  ['has passed all the same', () => ({ ok: true as const, value: {} })],
])(
  'nothing is put on record of calls whose run was cancelled while they were checked, when the check %s',
  async (_how, end) => {
    const controller = new AbortController();
    const tool = {
      ...aTool('add'),
      parseInput: () => {
        controller.abort();
        return end();
      },
    };
    const run = await runScript({ tools: [tool], replies: [asks([['add']])], input: cancelledBy(controller) });
    expect(run.outcome.status).toBe('cancelled');
    expect(run.nexts).toEqual([]);
  },
);

describe('a tool of a plugin', () => {
  it.each<[string, () => Promise<ToolOutput>]>([
    ['rejects', () => Promise.reject(new Error('boom'))],
    ['gives nothing at all', () => Promise.resolve(undefined as never)],
  ])('that %s is a failure that the model is told of', async (_what, execute) => {
    const run = await runScript({ tools: [aTool('plugin', execute)], replies: [asks([['plugin']]), says('Done')] });
    expect(run.outcome.status).toBe('completed');
    expect(toldCodes(run)).toEqual(['TOOL_FAILED']);
  });

  it('that gives an undefined value is answered with null', async () => {
    const tool = aTool('plugin', () => Promise.resolve({ isError: false, value: undefined as never }));
    const run = await runScript({ tools: [tool], replies: [asks([['plugin']]), says('Done')] });
    expect(run.sent[1]?.messages[2]).toMatchObject({ role: 'tool', content: 'null' });
  });
});

it('calls that had not begun when the run was cancelled are not executed', async () => {
  const controller = new AbortController();
  let executed = 0;
  const tool = aTool('add', (value) => {
    executed++;
    controller.abort();
    return Promise.resolve({ isError: false, value });
  });
  const run = await runScript({
    tools: [tool],
    settings: { toolExecution: 'sequential' },
    replies: [asks([['add'], ['add']])],
    input: cancelledBy(controller),
  });
  expect(executed).toBe(1);
  expect(run.outcome.status).toBe('cancelled');
  expect(run.outcome.steps[0]?.toolCalls.at(1)?.outcome?.code).toBe('TOOL_CANCELLED');
});

it('a model of a plugin that does not heed the signal does not keep the run past its end', async () => {
  const controller = new AbortController();
  const deaf = (): Promise<never> => {
    setImmediate(() => controller.abort());
    return new Promise(() => undefined);
  };
  const { outcome, ended } = await runScript({ replies: [deaf], input: cancelledBy(controller) });
  expect(outcome).toMatchObject({ status: 'cancelled', iterations: 1 });
  expect(ended).toMatchObject([{ step: 1, error: { code: 'RUN_CANCELLED' } }]);
});

function cancelledBy(controller: AbortController): object {
  const error = (): RuntimeError | undefined =>
    controller.signal.aborted ? new RuntimeError('RUN_CANCELLED') : undefined;
  return { stop: { signal: controller.signal, error } };
}

it('arguments and answers are checked for the tenant of the run, and no longer than it runs', async () => {
  const whom: unknown[] = [];
  const tool = guardTool(
    {
      ...aTool('echo'),
      parseInput: (value, checkedFor) => {
        whom.push(checkedFor);
        return { ok: true, value };
      },
    },
    readPermission({ fixed_arguments: { a: 1 } }, 'test'),
  );
  const format = outputFormat({ type: 'object' }, (_answer, checkedFor) => {
    whom.push(checkedFor);
    return Promise.resolve({ ok: true, value: {} });
  });
  const { signal } = new AbortController();
  const beforeToolCalls = () => Promise.resolve(new Map([['echo-0', { kind: 'changed', tool } as const]]));
  await runScript({
    tools: [tool],
    replies: [asks([['echo']]), says('{}')],
    input: { format, stop: { signal, error: () => undefined } },
    observer: { beforeToolCalls },
  });
  expect(whom).toEqual(Array.from({ length: 3 }, () => ({ tenantId: 'tenant', signal })));
});
