import type { ErrorCode } from '../../../../runtime/errors/codes';
import { RuntimeError } from '../../../../runtime/errors/runtime-error';
import {
  type FailedTry,
  growingDelay,
  judgeFailure,
  slotDelayMs,
  tellingDelayMs,
} from '../../../../runtime/queue/jobs/retry-policy';

const HOUR_MS = 3_600_000;
const judge = (code: ErrorCode, more: Partial<FailedTry> = {}): ReturnType<typeof judgeFailure> =>
  judgeFailure({ error: new RuntimeError(code), attempt: 1, maxAttempts: 3, deferrals: 0, ageMs: 0, ...more });

it('tries again what may pass by itself, until the tries are used up', () => {
  expect(judge('LLM_TIMEOUT')).toEqual({ kind: 'retry' });
  expect(judge('LLM_TIMEOUT', { attempt: 2 })).toEqual({ kind: 'retry' });
  expect(judge('LLM_TIMEOUT', { attempt: 3 })).toEqual({ kind: 'die' });
  expect(judge('LLM_TIMEOUT', { maxAttempts: 1 })).toEqual({ kind: 'die' });
});

it("lets a task wait for its tenant's next minute, and counts no try", () => {
  const error = new RuntimeError('TENANT_RATE_LIMITED', { runs: 2, seconds: 40 });
  const verdict = judge('TENANT_RATE_LIMITED', { error, attempt: 3 });
  expect(verdict.kind).toBe('defer');
  const { delayMs } = verdict as { readonly delayMs: number };
  expect(delayMs).toBeGreaterThanOrEqual(40_000);
  expect(delayMs).toBeLessThanOrEqual(45_000);
  // As the trigger knows it, from its text.
  expect(judge('TENANT_RATE_LIMITED', { attempt: 3 })).toMatchObject({ kind: 'defer' });
  expect(judge('TENANT_RATE_LIMITED', { attempt: 3, ageMs: 25 * HOUR_MS })).toMatchObject({ kind: 'defer' });
});

it.each(['INPUT_INVALID', 'TASK_CONFLICT', 'BUDGET_EXCEEDED', 'RUN_CANCELLED', 'INTERNAL_ERROR'] as const)(
  'gives up at once: %s',
  (code) => expect(judge(code)).toEqual({ kind: 'die' }),
);

it.each(['DB_UNREACHABLE', 'DB_AUTH_FAILED', 'DB_SCHEMA_MISSING', 'REDIS_UNAVAILABLE', 'TASK_RUNNING'] as const)(
  'waits for a day without counting a try, then counts: %s',
  (code) => {
    expect(judge(code, { attempt: 3, ageMs: 23 * HOUR_MS })).toMatchObject({ kind: 'defer' });
    expect(judge(code, { attempt: 1, ageMs: 25 * HOUR_MS })).toEqual({ kind: 'retry' });
    expect(judge(code, { attempt: 3, ageMs: 25 * HOUR_MS })).toEqual({ kind: 'die' });
  },
);

it('leaves a run that was taken over to the one that has it', () => {
  expect(judge('RUN_TAKEN_OVER', { attempt: 3 })).toMatchObject({ kind: 'defer' });
});

it('waits longer each time, up to a minute', () => {
  const delayAfter = (deferrals: number): number => {
    const verdict = judge('DB_UNREACHABLE', { deferrals });
    return verdict.kind === 'defer' ? verdict.delayMs : NaN;
  };
  expect(delayAfter(0)).toBeGreaterThanOrEqual(500);
  expect(delayAfter(0)).toBeLessThanOrEqual(1000);
  expect(delayAfter(3)).toBeGreaterThanOrEqual(4000);
  for (const deferrals of [10, 1000, 1e9]) {
    expect(delayAfter(deferrals)).toBeGreaterThanOrEqual(30_000);
    expect(delayAfter(deferrals)).toBeLessThanOrEqual(60_000);
  }
});

it('leaves half of a delay to chance', () => {
  const delays = Array.from({ length: 50 }, () => growingDelay(0, { firstMs: 1000, longestMs: 1000 }));
  expect(new Set(delays).size).toBeGreaterThan(5);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(500);
  expect(Math.max(...delays)).toBeLessThanOrEqual(1000);
});

it('asks for a slot the less often the more tasks wait', () => {
  expect(slotDelayMs(0, 0)).toBeLessThanOrEqual(50);
  expect(slotDelayMs(20, 0)).toBeLessThanOrEqual(2000);
  for (const times of [0, 20]) expect(slotDelayMs(times, 100_000)).toBeGreaterThanOrEqual(250_000);
});

it('tells of a death until Redis is back, five times again for a webhook, and not again what cannot be told', () => {
  const delayMs = (code: ErrorCode, times: number): number | undefined => tellingDelayMs(new RuntimeError(code), times);
  expect(delayMs('CALLBACK_FAILED', 0)).toBeLessThanOrEqual(1000);
  expect(delayMs('CALLBACK_FAILED', 4)).toBeGreaterThanOrEqual(8000);
  expect(delayMs('CALLBACK_FAILED', 5)).toBeUndefined();
  expect(delayMs('REDIS_UNAVAILABLE', 1000)).toBeGreaterThanOrEqual(15_000);
  expect(delayMs('CALLBACK_KEY_FORBIDDEN', 0)).toBeUndefined();
});
