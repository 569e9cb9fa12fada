import type { AgentResult, Claim, ClaimRequest, LedgerStore } from '../../../runtime';
import { claimRun, requestDigest } from '../../../runtime/ledger/claim';
import { readTask } from '../../../runtime/tasks/read-task';
import { createMemoryLedger } from '../../../runtime/testing';

const TENANT = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';
const REQUEST: ClaimRequest = {
  tenantId: TENANT,
  taskId: 'task-1',
  runId: 'run-1',
  digest: 'd',
  fresh: false,
  leaseMs: 1000,
  modelRequested: 'a/model',
};

function ledgerThatSays(...claims: readonly Claim[]): { ledger: LedgerStore; asked: () => number } {
  const claim = jest.fn<Promise<Claim>, [ClaimRequest]>();
  for (const said of claims) claim.mockResolvedValueOnce(said);
  return {
    ledger: { ...createMemoryLedger(), claim },
    asked: () => claim.mock.calls.length,
  };
}

function digest(config: object, more: { readonly meta?: object; readonly callback?: object } = {}): string {
  return requestDigest(
    readTask({
      task_id: 't',
      config: { message: 'Hi', ...config },
      meta: { tenant_id: TENANT, ...more.meta },
      callback: more.callback,
    }),
  );
}

describe('the digest of a request', () => {
  it('is the same however the keys are ordered', () => {
    expect(digest({ context: { a: 1, b: { c: 2, d: 3 } } })).toBe(digest({ context: { b: { d: 3, c: 2 }, a: 1 } }));
  });

  it.each([
    ['message', { message: 'Ho' }],
    ['tier', { agent_tier: 'pro' }],
    ['context', { context: { a: 1 } }],
    ['allow-list', { tools: [] }],
  ])('differs with the %s', (_what, config) => {
    expect(digest(config)).not.toBe(digest({}));
  });

  it('differs with the client', () => {
    expect(digest({}, { meta: { client_id: 'x' } })).not.toBe(digest({}));
  });

  it('does not depend on where the answer goes', () => {
    expect(digest({}, { callback: { result_key: 'elo:results:1' } })).toBe(digest({}));
  });

  it('does not depend on how long the caller would wait', () => {
    expect(digest({ timeout_seconds: 5 })).toBe(digest({ timeout_seconds: 60 }));
  });
});

it('asks once when it gets the task', async () => {
  const { ledger, asked } = ledgerThatSays({ kind: 'claimed', attempt: 1 });
  await expect(claimRun(ledger, REQUEST, new AbortController().signal)).resolves.toMatchObject({ kind: 'claimed' });
  expect(asked()).toBe(1);
});

it('waits while the task runs elsewhere, and gives back the stored result', async () => {
  const result = { task_id: 'task-1' } as AgentResult;
  const { ledger, asked } = ledgerThatSays({ kind: 'running' }, { kind: 'running' }, { kind: 'done', result });
  await expect(claimRun(ledger, REQUEST, new AbortController().signal)).resolves.toEqual({ kind: 'done', result });
  expect(asked()).toBe(3);
});

it('says that the task is running when the wait is over', async () => {
  const { ledger, asked } = ledgerThatSays({ kind: 'running' });
  await expect(claimRun(ledger, REQUEST, AbortSignal.abort())).rejects.toMatchObject({
    code: 'TASK_RUNNING',
    retryable: true,
  });
  expect(asked()).toBe(1);
});

it('refuses another request under the same id at once', async () => {
  const { ledger, asked } = ledgerThatSays({ kind: 'conflict' });
  await expect(claimRun(ledger, REQUEST, new AbortController().signal)).rejects.toMatchObject({
    code: 'TASK_CONFLICT',
    retryable: false,
  });
  expect(asked()).toBe(1);
});
