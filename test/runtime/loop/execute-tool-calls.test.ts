import type { ToolOutput } from '../../../runtime/contracts/tools/tool';
import { RuntimeError } from '../../../runtime/errors/runtime-error';
import { guardTool } from '../../../runtime/permissions/guard-tool';
import { readPermission } from '../../../runtime/permissions/read-tool-rules';
import { outputFormat } from '../../../runtime/run/plan/output-format';
import { containing } from '../../support/setup/matchers';
import { gate } from '../../support/values/agent-fixture';
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

  it('never has more calls under way than the cap', async () => {
    const slow = slowTool();
    const running = runScript({
      tools: [slow.tool],
      limits: { maxParallelToolCalls: 2 },
      replies: [three, says('Done')],
    });
    for (let released = 0; released < 3; released++) {
      await until(() => slow.waiting.length > 0);
      await tick();
      slow.waiting.shift()?.();
    }
    await running;
    expect(slow.most()).toBe(2);
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

describe('calls that must not run', () => {
  it('more than a step may have are answered and not executed', async () => {
    let executed = 0;
    const tool = aTool('add', (value) => {
      executed++;
      return Promise.resolve({ isError: false, value });
    });
    const run = await runScript({
      tools: [tool],
      limits: { maxToolCallsPerStep: 2 },
      replies: [asks([['add'], ['add'], ['add'], ['add']]), says('Done')],
    });
    expect(executed).toBe(2);
    expect(toldCodes(run)).toEqual([undefined, undefined, 'TOOL_CALL_LIMIT', 'TOOL_CALL_LIMIT']);
    expect(run.sent[1]?.messages.filter((message) => message.role === 'tool')).toHaveLength(4);
  });

  it('of an unknown or differently cased name are answered with the names there are', async () => {
    const run = await runScript({
      tools: [aTool('find_orders'), aTool('add')],
      replies: [asks([['Find_Orders'], ['constructor'], ['__proto__']]), says('Done')],
    });
    expect(toldCodes(run)).toEqual(['TOOL_NOT_FOUND', 'TOOL_NOT_FOUND', 'TOOL_NOT_FOUND']);
    expect(run.sent[1]?.messages[2]?.content).toContain('Available tools: find_orders, add.');
  });

  it('of an unknown name list at most thirty names', async () => {
    const tools = Array.from({ length: 40 }, (_, index) => aTool(`tool_${index}`));
    const run = await runScript({ tools, replies: [asks([['nope']]), says('Done')] });
    expect(run.sent[1]?.messages[2]?.content).toContain('tool_29 and 10 more.');
  });

  it('cut off by the token limit are not executed, even when their JSON happens to be whole', async () => {
    const run = await runScript({
      tools: [aTool('add')],
      replies: [
        asks(
          [
            ['add', '{"a":1'],
            ['add', { a: 1 }],
          ],
          { finishReason: 'length' },
        ),
        says('Done'),
      ],
    });
    expect(toldCodes(run)).toEqual(['TOOL_ARGUMENTS_TRUNCATED', 'TOOL_ARGUMENTS_TRUNCATED']);
  });

  it('with arguments that the tool refuses are told why', async () => {
    const tool = { ...aTool('add'), parseInput: () => ({ ok: false as const, issues: 'a must be a number' }) };
    const run = await runScript({ tools: [tool], replies: [asks([['add', { a: 'x' }]]), says('Done')] });
    expect(toldCodes(run)).toEqual(['TOOL_INVALID_ARGS']);
    expect(run.sent[1]?.messages[2]?.content).toContain('a must be a number');
  });

  it('with arguments on which the check itself breaks are refused', async () => {
    const tool = {
      ...aTool('add'),
      parseInput: () => {
        throw new Error('broken check');
      },
    };
    const run = await runScript({ tools: [tool], replies: [asks([['add']]), says('Done')] });
    expect(toldCodes(run)).toEqual(['TOOL_INVALID_ARGS']);
  });
});

describe('a tool of a plugin', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const broken: [string, () => Promise<ToolOutput>][] = [
    ['rejects', () => Promise.reject(new Error('boom'))],
    ['gives a value with a cycle', () => Promise.resolve({ isError: false, value: cyclic as never })],
    ['gives a BigInt', () => Promise.resolve({ isError: false, value: 1n as never })],
    ['gives an object whose toJSON throws', () => Promise.resolve({ isError: false, value: throwing() as never })],
    ['gives nothing at all', () => Promise.resolve(undefined as never)],
    [
      'gives a value that is nested too deeply',
      () => Promise.resolve({ isError: false, value: nested(1000) as never }),
    ],
  ];

  it.each(broken)('that %s is a failure that the model is told of', async (_what, execute) => {
    const run = await runScript({ tools: [aTool('plugin', execute)], replies: [asks([['plugin']]), says('Done')] });
    expect(run.outcome.status).toBe('completed');
    expect(toldCodes(run)).toEqual(['TOOL_FAILED']);
    expect(() => JSON.stringify(run.outcome.steps)).not.toThrow();
  });

  it('that gives an undefined value is answered with null', async () => {
    const tool = aTool('plugin', () => Promise.resolve({ isError: false, value: undefined as never }));
    const run = await runScript({ tools: [tool], replies: [asks([['plugin']]), says('Done')] });
    expect(run.sent[1]?.messages[2]).toMatchObject({ role: 'tool', content: 'null' });
  });

  it('that does not heed the signal does not keep the run past its end', async () => {
    const controller = new AbortController();
    const started = gate();
    const deaf = aTool('deaf', () => {
      started.open();
      return new Promise(() => undefined);
    });
    const running = runScript({ tools: [deaf], replies: [asks([['deaf']])], input: cancelledBy(controller) });
    await started.opened;
    controller.abort();
    const { outcome } = await running;
    expect(outcome).toMatchObject({ status: 'cancelled', error: { code: 'RUN_CANCELLED' } });
    expect(outcome.steps[0]?.toolCalls[0]?.outcome?.code).toBe('TOOL_CANCELLED');
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

function throwing(): object {
  return {
    toJSON: () => {
      throw new Error('no JSON today');
    },
  };
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
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
