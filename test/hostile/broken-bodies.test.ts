import '../support/setup/errors-of-node';

import type { ServerResponse } from 'node:http';

import { textReply } from '../support/servers/model-server';
import { until } from '../support/values/until';
import { callReply, hostileWorld, warned } from '../support/worlds/hostile-world';

const world = hostileWorld();
const { attack } = world;
const DONE = textReply('Done');

const whole = JSON.stringify(callReply('mail', '{"to":"all"}').body);
const CUTS: [string, (response: ServerResponse) => void][] = [
  [
    'with its length announced',
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length });
      response.write(whole.slice(0, -30), () => response.destroy());
    },
  ],
  [
    'in chunks',
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(whole, () => response.destroy());
    },
  ],
];

it.each(CUTS)(
  'case 13: cut mid-way %s: nothing of it runs, its usage is called unknown, and one retry answers',
  async (_what, cut) => {
    const { result, executed, sent, bill, calls } = await attack({
      tools: [{ code: 'mail' }],
      runtime: world.aRuntime({ maxRetries: 1 }),
      replies: [(_request, response) => cut(response), DONE],
    });
    expect(executed).toEqual([]);
    expect(sent).toHaveLength(2);
    expect(result).toMatchObject({ status: 'completed', iterations: 1, tokens: { total: 120 } });
    expect(warned({ result })).toEqual(['USAGE_UNKNOWN']);
    expect(bill).toMatchObject([{ model_calls: 1, total_tokens: 120 }]);
    expect(calls).toMatchObject([{ call_no: 1, unanswered_requests: 1, prompt_tokens: '100' }]);
  },
);

it.each(CUTS)(
  'case 13: cut mid-way %s for good: the run fails, and the ledger keeps the call open',
  async (_what, cut) => {
    const { error, result, executed, bill, calls } = await attack({
      tools: [{ code: 'mail' }],
      replies: [(_request, response) => cut(response)],
    });
    expect(error).toMatchObject({ code: 'LLM_UNAVAILABLE', retryable: true });
    expect(executed).toEqual([]);
    expect(warned({ result })).toEqual(['USAGE_UNKNOWN']);
    expect(bill).toMatchObject([{ model_calls: 0, total_tokens: 0 }]);
    expect(calls).toMatchObject([{ call_no: 1, closed_at: null, prompt_tokens: null }]);
  },
);

it('case 13: half a JSON that claims to be whole is no reply: nothing runs, and its usage is called unknown', async () => {
  const { error, result, executed } = await attack({
    tools: [{ code: 'mail' }],
    replies: [
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(whole.slice(0, -30));
      },
    ],
  });
  expect(error).toMatchObject({ code: 'LLM_BAD_REPLY' });
  expect(executed).toEqual([]);
  expect(warned({ result })).toEqual(['USAGE_UNKNOWN']);
});

it('case 13: a body that never ends is cut at the deadline of the run, and the provider is let go', async () => {
  let isClosed = false;
  const { error, result } = await attack({
    config: { timeout_seconds: 0.5 },
    replies: [
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const timer = setInterval(() => response.write(' '), 5);
        response.on('close', () => {
          clearInterval(timer);
          isClosed = true;
        });
      },
    ],
  });
  expect(error).toMatchObject({ code: 'RUN_TIMEOUT' });
  expect(result).toMatchObject({ status: 'failed', iterations: 1 });
  expect(warned({ result })).toEqual(['USAGE_UNKNOWN']);
  await until(() => isClosed);
});

it('case 13: a body without end that comes fast is not kept in memory', async () => {
  let sentBytes = 0;
  const block = Buffer.alloc(1024 * 1024, ' ');
  const { error } = await attack({
    config: { timeout_seconds: 30 },
    replies: [
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const more = (): void => {
          if (response.destroyed) return;
          sentBytes += block.length;
          response.write(block, more);
        };
        more();
      },
    ],
  });
  expect(error).toMatchObject({ code: 'LLM_UNAVAILABLE' });
  expect(error?.message).toContain('longer than 1048576 bytes');
  expect(sentBytes).toBeLessThan(64 * 1024 * 1024);
});
