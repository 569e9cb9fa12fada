import '../support/setup/errors-of-node';

import { createRuntime } from '../../runtime';
import { sendJson } from '../support/servers/http-server';
import { textReply, toolReply } from '../support/servers/model-server';
import { gate } from '../support/values/agent-fixture';
import { until } from '../support/values/until';
import { COST_OF_ONE, hostileWorld, told, warned } from '../support/worlds/hostile-world';

const world = hostileWorld();
const { attack } = world;
const DONE = textReply('Done');
const tools = [{ code: 'look' }];
const look = (given: unknown = { q: 'x' }): { readonly body: unknown } =>
  toolReply([{ name: 'look', arguments: given }]);

describe('a model that goes round in circles', () => {
  it('case 06: the third identical call is not made, and the fourth ends the run', async () => {
    const aftermath = await attack({ tools, replies: [look(), look(), look(), look(), DONE] });
    const { error, result, executed, sent, bill, executions } = aftermath;
    expect(executed).toHaveLength(2);
    expect(JSON.parse(told(aftermath).at(-1) ?? '')).toMatchObject({
      warning: { code: 'TOOL_REPEATED' },
      result: { got: { q: 'x' } },
    });
    expect(error).toMatchObject({ code: 'LOOP_DETECTED', details: { tool: 'look' } });
    expect(result).toMatchObject({ status: 'failed', iterations: 4 });
    expect(result?.result.tool_calls).toHaveLength(3);
    expect(sent).toHaveLength(4);
    expect(bill).toMatchObject([{ model_calls: 4, cost_usd: (4 * COST_OF_ONE).toFixed(8) }]);
    expect(executions.map(({ code }) => code)).toEqual([null, null, 'TOOL_REPEATED']);
  });

  it.each([
    ['other blanks', '{ "q" : "x",\n"n":1}'],
    ['another order', '{"n":1,"q":"x"}'],
    ['other escapes', '{"\\u0071":"\\u0078","n":1.0}'],
    ['a fence', '```json\n{"q":"x","n":1}\n```'],
    ['a key that comes twice', '{"q":"y","n":1,"q":"x"}'],
  ])('case 06: a call in %s is the same call', async (_what, given) => {
    const { executed, error } = await attack({
      tools,
      replies: [look('{"q":"x","n":1}'), look(given), look(given), look('{"q":"x","n":1}'), DONE],
    });
    expect(executed).toHaveLength(2);
    expect(error).toMatchObject({ code: 'LOOP_DETECTED' });
  });

  it('case 06: calls of other things in between do not hide the repetition', async () => {
    const { executed, error } = await attack({
      tools: [...tools, { code: 'blink' }],
      replies: [1, 2, 3, 4].flatMap((n) => [look(), toolReply([{ name: 'blink', arguments: { n } }])]),
    });
    expect(executed.filter(({ tool }) => tool === 'look')).toHaveLength(2);
    expect(error).toMatchObject({ code: 'LOOP_DETECTED' });
  });

  it('case 06: a result that changes is no repetition', async () => {
    let n = 0;
    world.answer((_request, response) => sendJson(response, { waiting: n++ }));
    const { result, executed } = await attack({ tools, replies: [...Array.from({ length: 6 }, () => look()), DONE] });
    expect(executed).toHaveLength(6);
    expect(result).toMatchObject({ status: 'completed' });
  });

  it('case 06: thirty identical calls in one turn are no way around it', async () => {
    const many = toolReply(Array.from({ length: 30 }, () => ({ name: 'look', arguments: { q: 'x' } })));
    const { executed, result } = await attack({ tools, replies: [many, DONE] });
    expect(executed).toHaveLength(2);
    expect(result?.result.tool_calls).toHaveLength(30);
  });

  it('case 06: identical calls of one turn are all made as long as their answers differ', async () => {
    let n = 0;
    world.answer((_request, response) => sendJson(response, { dice: n++ }));
    const many = toolReply(Array.from({ length: 12 }, () => ({ name: 'look' })));
    expect((await attack({ tools, replies: [many, DONE] })).executed).toHaveLength(12);
  });

  it('case 06: a tool that answers the same with an error is ended by the limit for errors', async () => {
    world.answer((_request, response) => sendJson(response, { error: 'no' }, 500));
    const { error, sent } = await attack({ tools, replies: Array.from({ length: 9 }, () => look()) });
    expect(error).toMatchObject({ code: 'TOOL_ERRORS_REPEATED' });
    expect(sent).toHaveLength(5);
  });

  it.each([
    [2, 1],
    [5, 4],
  ])('case 06: with max_identical_calls %i it runs %i time(s)', async (limit, runs) => {
    const { executed } = await attack({
      tools,
      config: { max_identical_calls: limit },
      replies: Array.from({ length: 9 }, () => look()),
    });
    expect(executed).toHaveLength(runs);
  });
});

describe('a run that is cancelled', () => {
  it('case 40: during a tool: its server is let go, what was used is billed, and no model is called any more', async () => {
    const controller = new AbortController();
    const closed: string[] = [];
    world.answer((request, response) => {
      response.on('close', () => closed.push(request.path));
      if (closed.length === 0) setImmediate(() => controller.abort());
    });
    const { error, result, sent, bill, calls, executions, state } = await attack({
      tools,
      options: { signal: controller.signal },
      replies: [
        toolReply([
          { name: 'look', arguments: { n: 1 } },
          { name: 'look', arguments: { n: 2 } },
        ]),
        DONE,
      ],
    });
    expect(error).toMatchObject({ code: 'RUN_CANCELLED', retryable: false });
    await until(() => closed.length === 2);
    expect(sent).toHaveLength(1);
    expect(result).toMatchObject({ status: 'cancelled', iterations: 1, tokens: { total: 120 } });
    expect(result?.result.tool_calls.map((call) => call.error)).toMatchObject([
      { code: 'TOOL_CANCELLED' },
      { code: 'TOOL_CANCELLED' },
    ]);
    expect(bill).toMatchObject([{ model_calls: 1, total_tokens: 120, cost_usd: COST_OF_ONE.toFixed(8) }]);
    // The call that was opened for the next step was never sent, so it is not in the ledger.
    expect(calls).toHaveLength(1);
    expect(executions.map(({ code }) => code)).toEqual(['TOOL_CANCELLED', 'TOOL_CANCELLED']);
    expect(state).toBe('failed');
  });

  it('case 40: during a model call: the provider is let go, and the steps before are billed', async () => {
    const controller = new AbortController();
    let isClosed = false;
    const { error, result, bill, calls, executed } = await attack({
      tools,
      options: { signal: controller.signal },
      replies: [
        look(),
        (_request, response) => {
          response.on('close', () => {
            isClosed = true;
          });
          response.writeHead(200, { 'content-type': 'application/json' }).write('{"choices":[{"mess');
          setTimeout(() => controller.abort(), 20);
        },
      ],
    });
    await until(() => isClosed);
    expect(error).toMatchObject({ code: 'RUN_CANCELLED' });
    expect(executed).toHaveLength(1);
    expect(result).toMatchObject({ status: 'cancelled', iterations: 2, tokens: { total: 120 } });
    expect(warned({ result })).toEqual(['USAGE_UNKNOWN']);
    expect(bill).toMatchObject([{ model_calls: 1, total_tokens: 120 }]);
    expect(calls).toMatchObject([{ call_no: 1 }, { call_no: 2, closed_at: null }]);
  });

  it('case 40: a tool that does not heed the signal keeps neither the run nor the process', async () => {
    const controller = new AbortController();
    const { fixture } = world;
    const never = gate();
    const deaf = createRuntime({
      database: { url: fixture().database.url },
      model: { apiKey: 'sk-test-key', baseUrl: fixture().models.url },
      plugins: {
        tools: [
          {
            definition: { name: 'deaf', description: 'Never ends', inputSchema: { type: 'object' } },
            parseInput: (value) => ({ ok: true, value }),
            execute: async () => {
              controller.abort();
              await never.opened;
              return { isError: false, value: 'too late' };
            },
          },
        ],
      },
    });
    const { error, result, sent } = await attack({
      runtime: deaf,
      options: { signal: controller.signal },
      replies: [toolReply([{ name: 'deaf' }]), DONE],
    });
    await deaf.close();
    expect(error).toMatchObject({ code: 'RUN_CANCELLED' });
    expect(result?.result.tool_calls).toMatchObject([{ error: { code: 'TOOL_CANCELLED' } }]);
    expect(sent).toHaveLength(1);
    never.open();
  });

  it('case 40: before it began: nothing is sent, and the bill is zero', async () => {
    const { error, sent, bill, calls } = await attack({ options: { signal: AbortSignal.abort() }, replies: [DONE] });
    expect(error).toMatchObject({ code: 'RUN_CANCELLED' });
    expect([sent, calls]).toEqual([[], []]);
    expect(bill).toMatchObject([{ model_calls: 0, total_tokens: 0, cost_usd: '0.00000000' }]);
  });

  it('case 40: while it waits for another try: there is none', async () => {
    const controller = new AbortController();
    const { error, sent, bill } = await attack({
      runtime: world.aRuntime({ maxRetries: 3 }),
      options: { signal: controller.signal },
      replies: [
        (_request, response) => {
          response.writeHead(503, { 'retry-after': '50', 'content-type': 'application/json' }).end('{}');
          setTimeout(() => controller.abort(), 50);
        },
        DONE,
      ],
    });
    expect(error).toMatchObject({ code: 'RUN_CANCELLED' });
    expect(sent).toHaveLength(1);
    expect(bill).toMatchObject([{ total_tokens: 0, cost_usd: '0.00000000' }]);
  });

  it('case 40: cancelled work may be asked for again, and both attempts stand on one line of the bill', async () => {
    const controller = new AbortController();
    const { fixture } = world;
    world.answer(() => controller.abort());
    const first = await attack({ tools, options: { signal: controller.signal }, replies: [look(), DONE] });
    fixture().models.script(DONE);
    const task = {
      task_id: first.taskId,
      trace_id: 'trace-1',
      config: { agent_tier: 'pro', message: `Do ${first.taskId}` },
    };
    const result = await fixture().runtime.run({ ...task, meta: { tenant_id: first.tenantId } });
    expect(result).toMatchObject({ status: 'completed', tokens: { total: 120 } });
    expect(result).not.toHaveProperty('replayed');
    expect(await fixture().usageRows(first.taskId)).toMatchObject([{ model_calls: 2, total_tokens: 240 }]);
  });
});
