import { randomUUID } from 'node:crypto';

import type { AgentResult, LedgerStore, Model, ModelCallRecord, RunProgress } from '../../../runtime';
import { createRuntime } from '../../../runtime';
import { createLedgerStore } from '../../../runtime/storage/postgres/ledger/ledger-store';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { aTask, echoTool, failureOf } from '../../support/values/agent-fixture';
import { fc } from '../../support/values/properties';
import { usageOf } from '../../support/values/usage-of';

let database: TestDatabase;
let postgres: Postgres;
let ledger: LedgerStore & { readonly close: () => Promise<void> };
let tenantId: string;

beforeAll(async () => {
  database = await createMigratedDatabase();
  postgres = createPostgres({ url: database.url, maxConnections: 4 });
  ledger = createLedgerStore(postgres.query, { auditRetentionDays: 90 });
  tenantId = await addTenant(database);
});
afterAll(async () => {
  await ledger.close();
  await postgres.close();
  await database.close();
});

const LEASE_MS = 60_000;
const BILL = { tier: 'pro', taskType: 'ai_agent', modelRequested: 'a/model' };

/** Cost in units of 1e-12 dollars. */
interface RandomCall {
  readonly prompt: number;
  readonly completion: number;
  readonly cost: bigint;
}

const randomCall = fc.record({
  prompt: fc.nat(100_000),
  completion: fc.nat(100_000),
  cost: fc.bigInt({ min: 0n, max: 10n ** 13n }),
});
const randomAttempts = fc.array(fc.array(randomCall, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 });

/** `units` of the last of `places` decimal places, as decimal text. */
function decimal(units: bigint, places: number): string {
  const digits = units.toString().padStart(places + 1, '0');
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

function callRecord(call: RandomCall, step: number): ModelCallRecord {
  return {
    step,
    modelRequested: 'a/model',
    modelBilled: 'a/model',
    usage: usageOf(call.prompt, call.completion),
    costUsd: decimal(call.cost, 12),
    unansweredRequests: 0,
  };
}

/** Claims a task anew, as the next attempt. */
async function claim(taskId: string): Promise<string> {
  const runId = randomUUID();
  const digest = 'd'.repeat(64);
  await ledger.claim({ tenantId, taskId, runId, digest, fresh: true, leaseMs: LEASE_MS, modelRequested: 'a/model' });
  return runId;
}

/** Every write that an attempt could make: each call closed alone, all of them at once, calls opened, the end. */
function writesOf(
  key: { tenantId: string; taskId: string; runId: string },
  calls: readonly RandomCall[],
): RunProgress[] {
  const base = { ...key, leaseMs: LEASE_MS, bill: BILL };
  const closed = calls.map((call, index) => callRecord(call, index + 1));
  const result = { task_id: key.taskId, run_id: key.runId } as AgentResult;
  return [
    ...closed.map((call): RunProgress => ({
      ...base,
      closed: [call],
      opening: { step: call.step + 1, modelRequested: 'a/model' },
    })),
    { ...base, closed },
    { ...base, closed: [] },
    { ...base, closed: closed.slice(-1), end: { state: 'done', result, lastStep: calls.length } },
  ];
}

function sumOf(calls: readonly RandomCall[]): { prompt: number; completion: number; exact: string; shown: string } {
  const cost = calls.reduce((sum, call) => sum + call.cost, 0n);
  return {
    prompt: calls.reduce((sum, call) => sum + call.prompt, 0),
    completion: calls.reduce((sum, call) => sum + call.completion, 0),
    exact: decimal(cost, 12),
    shown: decimal((cost + 5_000n) / 10_000n, 8),
  };
}

it('holds the exact sum of all calls, however the writes are repeated, reordered and run into one another', async () => {
  await fc.assert(
    fc.asyncProperty(randomAttempts, fc.infiniteStream(fc.nat()), async (attempts, random) => {
      const taskId = randomUUID();
      const writes: RunProgress[] = [];
      for (const calls of attempts) writes.push(...writesOf({ tenantId, taskId, runId: await claim(taskId) }, calls));
      const twice = [...writes, ...writes].map((write) => ({ write, order: random.next().value as number }));
      twice.sort((a, b) => a.order - b.order);
      await Promise.all(twice.map(({ write }) => ledger.record(write)));

      const sum = sumOf(attempts.flat());
      const rows = await database.query('SELECT * FROM elo_t_token_usage WHERE task_id = $1', [taskId]);
      expect(rows).toMatchObject([
        {
          prompt_tokens: sum.prompt,
          completion_tokens: sum.completion,
          total_tokens: sum.prompt + sum.completion,
          model_calls: attempts.flat().length,
          cost_usd: sum.shown,
        },
      ]);
      expect(decimal(BigInt(String(rows[0]?.cost_exact).replace('.', '')), 12)).toBe(sum.exact);
    }),
    { numRuns: 30 },
  );
});

it('lets a call be added once by many writers at the same moment', async () => {
  const taskId = randomUUID();
  const runId = await claim(taskId);
  const closed = [callRecord({ prompt: 1250, completion: 340, cost: 391_500_000n }, 1)];
  const write: RunProgress = { tenantId, taskId, runId, leaseMs: LEASE_MS, bill: BILL, closed };
  await Promise.all(Array.from({ length: 12 }, () => ledger.record(write)));
  const rows = await database.query(
    'SELECT total_tokens, cost_usd, model_calls FROM elo_t_token_usage WHERE task_id = $1',
    [taskId],
  );
  expect(rows).toEqual([{ total_tokens: 1590, cost_usd: '0.00039150', model_calls: 1 }]);
});

it('names the model of the last call on the line, also when several calls come in one write', async () => {
  const taskId = randomUUID();
  const runId = await claim(taskId);
  const calls = [1, 2, 3].map((step) => ({
    ...callRecord({ prompt: 1, completion: 1, cost: 1n }, step),
    modelBilled: `a/model-${step}`,
  }));
  await ledger.record({ tenantId, taskId, runId, leaseMs: LEASE_MS, bill: BILL, closed: calls });
  const rows = await database.query('SELECT model_id, model_calls FROM elo_t_token_usage WHERE task_id = $1', [taskId]);
  expect(rows).toEqual([{ model_id: 'a/model-3', model_calls: 3 }]);
});

it('opens no call again that was closed, and guesses nothing for one that is open', async () => {
  const taskId = randomUUID();
  const runId = await claim(taskId);
  const base = { tenantId, taskId, runId, leaseMs: LEASE_MS, bill: BILL };
  await ledger.record({ ...base, closed: [callRecord({ prompt: 1, completion: 1, cost: 1n }, 1)] });
  await ledger.record({ ...base, closed: [], opening: { step: 1, modelRequested: 'a/model' } });
  await ledger.record({ ...base, closed: [], opening: { step: 2, modelRequested: 'a/model' } });
  const calls = await database.query(
    'SELECT call_no, prompt_tokens, closed_at IS NULL AS is_open FROM elo_agent_model_calls WHERE task_id = $1 ORDER BY call_no',
    [taskId],
  );
  expect(calls).toEqual([
    { call_no: 1, prompt_tokens: '1', is_open: false },
    { call_no: 2, prompt_tokens: null, is_open: true },
  ]);
  const rows = await database.query('SELECT model_calls FROM elo_t_token_usage WHERE task_id = $1', [taskId]);
  expect(rows).toEqual([{ model_calls: 1 }]);
});

/** Prices are in millionths of a dollar, so that whole numbers can check the result. */
const randomRun = fc.record({
  prices: fc.tuple(fc.nat(2_000_000), fc.nat(9_000_000)),
  /** Prompt and completion tokens of each call; the last one answers, or fails. */
  usages: fc.array(fc.tuple(fc.nat(2_000), fc.nat(2_000)), { minLength: 1, maxLength: 5 }),
  fails: fc.boolean(),
});

it('bills a whole run, from the price table to the line, as whole-number arithmetic does', async () => {
  let next: Model['generate'] = () => Promise.reject(new Error('not scripted'));
  const runtime = createRuntime({
    database: { url: database.url },
    plugins: { model: { generate: (request) => next(request) }, tools: [echoTool] },
  });
  await fc.assert(
    fc.asyncProperty(randomRun, async ({ prices, usages, fails }) => {
      const [input, output] = prices;
      await database.query(
        'UPDATE elo_model_pricing SET input_cost_per_1m = $1, output_cost_per_1m = $2 WHERE model_id = $3',
        [decimal(BigInt(input), 6), decimal(BigInt(output), 6), 'openai/gpt-4o-mini'],
      );
      next = scripted(usages, fails);
      const task = aTask(tenantId);
      const run = runtime.run(task);
      const result = fails ? (await failureOf(run)).result : await run;

      const sum = sumOf(
        usages.map(([prompt, completion]) => ({
          prompt,
          completion,
          cost: BigInt(prompt) * BigInt(input) + BigInt(completion) * BigInt(output),
        })),
      );
      expect(result?.cost_usd).toBe(sum.shown);
      const rows = await database.query('SELECT * FROM elo_t_token_usage WHERE task_id = $1', [task.task_id]);
      expect(rows).toMatchObject([
        { prompt_tokens: sum.prompt, completion_tokens: sum.completion, cost_usd: sum.shown },
      ]);
    }),
    { numRuns: 20 },
  );
  await runtime.close();
});

/** A model that asks for a tool in every call but the last, which answers or is refused after it. */
function scripted(usages: readonly (readonly [number, number])[], fails: boolean): Model['generate'] {
  let made = 0;
  return ({ attempts }) => {
    attempts.sent++;
    attempts.answered++;
    const usage = usages[made++];
    if (usage === undefined) return Promise.reject(new Error('the provider is gone'));
    const isLast = made === usages.length && !fails;
    const call = {
      id: `call_${made}`,
      type: 'function',
      function: { name: 'echo', arguments: `{"call":${made}}` },
    } as const;
    return Promise.resolve({
      message: isLast
        ? { role: 'assistant', content: 'Done.' }
        : { role: 'assistant', content: null, tool_calls: [call] },
      finishReason: isLast ? 'stop' : 'tool-calls',
      usage: usageOf(usage[0], usage[1]),
    });
  };
}
