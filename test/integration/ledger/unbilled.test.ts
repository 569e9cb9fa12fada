import { randomUUID } from 'node:crypto';

import { Client } from 'pg';

import type { AgentResult, LedgerStore, ModelCallRecord, RunProgress } from '../../../runtime';
import { createLedgerStore } from '../../../runtime/storage/postgres/ledger/ledger-store';
import { sealedJson } from '../../../runtime/storage/postgres/ledger/sealed-json';
import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { OUTBOX_OWNER, writeEntry } from '../../../runtime/storage/redis/write-entry';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { withCode } from '../../support/setup/matchers';
import { usageOf } from '../../support/values/usage-of';

const COST = '0.0004';
const CALL: ModelCallRecord = {
  ...{ step: 1, modelRequested: 'a/model', modelBilled: 'a/model', costUsd: COST, unansweredRequests: 0 },
  usage: usageOf(100, 20),
};
const LIMIT = { costLimitUsd: COST, holdCostUsd: '0', holdTokens: 0 };

let database: TestDatabase;
let postgres: Postgres;
let ledger: LedgerStore;
let tenantId: string;

beforeEach(async () => {
  database = await createMigratedDatabase();
  // Two seconds of it for locks.
  postgres = createPostgres({ url: database.url, maxConnections: 4, queryTimeoutMs: 6000 });
  ledger = createLedgerStore(postgres.query, { auditRetentionDays: 90 });
  tenantId = await addTenant(database);
});
afterEach(async () => {
  await postgres.close();
  await database.close();
});

const claim = (limit?: typeof LIMIT, taskId: string = randomUUID()) =>
  ledger.claim({
    ...{ tenantId, taskId, runId: randomUUID(), digest: 'd'.repeat(64), fresh: false, leaseMs: 60_000 },
    ...{ modelRequested: 'a/model', reserve: limit },
  });

/** The end of a run that was claimed, with one call. */
async function ended(more: Partial<RunProgress> = {}): Promise<RunProgress> {
  const [taskId, runId] = [randomUUID(), randomUUID()];
  const digest = 'd'.repeat(64);
  await ledger.claim({ tenantId, taskId, runId, digest, fresh: false, leaseMs: 60_000, modelRequested: 'a/model' });
  return {
    ...{ tenantId, taskId, runId, leaseMs: 60_000, closed: [CALL] },
    bill: { tier: 'pro', taskType: 'ai_agent', modelRequested: 'a/model' },
    end: { state: 'done', result: { task_id: taskId, status: 'completed' } as AgentResult, lastStep: 1 },
    ...more,
  };
}

const states = (): Promise<unknown[]> => database.query('SELECT DISTINCT state FROM elo_agent_runs');
const unbilled = async (): Promise<unknown> =>
  (await database.query('SELECT count(*)::int AS calls FROM elo_agent_model_calls WHERE unbilled_at IS NOT NULL'))[0];
const isFull = async (): Promise<void> => expect(await claim(LIMIT)).toEqual({ kind: 'exceeded' });

it('counts each of several runs of a tenant while somebody locks the bill', async () => {
  const runs = await Promise.all([1, 2, 3, 4, 5].map(() => ended()));
  const holder = new Client({ connectionString: database.url });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE elo_t_token_usage IN SHARE MODE');
  await Promise.all(
    runs.map(async (run) => {
      await expect(ledger.record(run)).rejects.toThrow(withCode('DB_UNAVAILABLE'));
      await ledger.recordUnbilled(run);
    }),
  );
  expect(await unbilled()).toEqual({ calls: 5 });
  expect(await states()).toEqual([{ state: 'done' }]);
  await isFull();
  await holder.query('COMMIT');
  await holder.end();
  for (const run of runs) await ledger.record(run);
  expect(await claim({ ...LIMIT, costLimitUsd: '0.0021' })).toMatchObject({ kind: 'claimed' });
  expect(await claim({ ...LIMIT, costLimitUsd: '0.0020' })).toEqual({ kind: 'exceeded' });
});

const refusing = (state: string): string => `
  CREATE FUNCTION refuse() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RAISE 'no' USING ERRCODE = '${state}'; END $$;
  CREATE TRIGGER refuse BEFORE INSERT ON elo_t_token_usage FOR EACH ROW EXECUTE FUNCTION refuse()`;

it.each([
  ['42501', refusing('42501')],
  ['55000', refusing('55000')],
  ['42703', 'ALTER TABLE elo_t_token_usage RENAME COLUMN task_type TO kind'],
  ['23502', 'ALTER TABLE elo_t_token_usage ADD COLUMN provider TEXT NOT NULL'],
])('counts what the outbox keeps of a bill that answers %s', async (_state, sql) => {
  const run = await ended();
  await database.query(sql);
  const json = sealedJson(undefined);
  await writeEntry({ ledger, json }, json.write(run, OUTBOX_OWNER)).catch(() => undefined);
  expect(await unbilled()).toEqual({ calls: 1 });
  expect(await states()).toEqual([{ state: 'done' }]);
  await isFull();
});

it('takes a line that is there for written where a trigger drops updates that change nothing', async () => {
  await database.query(`CREATE TRIGGER zz BEFORE UPDATE ON elo_t_token_usage FOR EACH ROW
    EXECUTE FUNCTION suppress_redundant_updates_trigger()`);
  const run = await ended();
  await ledger.record({ ...run, end: undefined });
  for (let times = 0; times < 2; times++) await expect(ledger.record(run)).resolves.toMatchObject({ isOurs: true });
  await isFull();
});

it.each(['NUMERIC(12, 2)', 'INT'])('limits by the exact cost where the column becomes %s', async (type) => {
  await database.query(`DROP VIEW elo_v_tenant_monthly_usage;
    ALTER TABLE elo_t_token_usage ALTER COLUMN cost_usd TYPE ${type}`);
  await ledger.record(await ended());
  await isFull();
  const [{ shown } = { shown: '' }] = await database.query<{ shown: string }>(
    'SELECT elo_agent_line_cost(cost_usd::numeric, cost_exact)::text AS shown FROM elo_t_token_usage',
  );
  expect(shown).toBe('0.00040000');
});

it('takes a cost that a person has changed as it is', async () => {
  await ledger.record(await ended());
  await database.query('UPDATE elo_t_token_usage SET cost_usd = 0');
  expect(await claim(LIMIT)).toMatchObject({ kind: 'claimed' });
});

it('counts in the month in which it is told, until that month ends', async () => {
  const run = await ended();
  await database.query(`UPDATE elo_agent_model_calls SET opened_at = opened_at - interval '40 days'`);
  await ledger.recordUnbilled(run);
  await isFull();
  await ledger.recordUnbilled(run);
  await database.query(`UPDATE elo_agent_model_calls SET unbilled_at = unbilled_at - interval '40 days'`);
  await ledger.recordUnbilled(run);
  expect(await claim(LIMIT)).toMatchObject({ kind: 'claimed' });
});

it('lists the last call of which nothing is known', async () => {
  const lost = { step: 2, modelRequested: 'a/model', unansweredRequests: 2 };
  const run = await ended({ opening: lost });
  await ledger.recordUnbilled({ ...run, end: { ...run.end, lastStep: 2 } as RunProgress['end'] });
  const calls = await database.query(
    'SELECT call_no, unanswered_requests AS lost, unbilled_tokens::int AS tokens FROM elo_agent_model_calls ORDER BY call_no',
  );
  expect(calls).toEqual([
    { call_no: 1, lost: 0, tokens: 120 },
    { call_no: 2, lost: 2, tokens: null },
  ]);
});
