import { randomUUID } from 'node:crypto';

import type { RunProgress } from '../../contracts/ledger/ledger';
import type { AgentResult } from '../../contracts/result';
import { isRuntimeError } from '../../errors/runtime-error';
import { sqlStateOf } from '../postgres/database-errors';
import { claimRunStatement } from '../sql/ledger/claim-run';
import { recordProgressStatement } from '../sql/ledger/record-progress';
import type { Query } from '../statement';
import { TENANTS } from './schema-gaps';

/**
 * Writes a run and its line of the bill as a run does, reads the line back and undoes it. Returns why the line cannot be written or is not
 * exact; undefined if it is exact, and if it cannot be tried: for now, by this role, or without a tenant. Must be called in a transaction.
 */
export async function rehearseBill(query: Query): Promise<string | undefined> {
  const [{ encoding } = { encoding: '' }] = await rowsOf<{ encoding: string }>(query, ENCODING);
  if (!ENCODINGS.includes(encoding))
    return `the database has the encoding ${encoding}, which lacks characters that models write; it must be UTF8`;
  const misfits = await findMisfits(query);
  if (misfits !== undefined) return misfits;
  // A new tenant blocks no other write. An installation's own tables may want more of a tenant than its name.
  const first = await rehearse(query, addTenant);
  if (first === 'fit') return undefined;
  const second = await rehearse(query, findTenant);
  const decisive = second === 'untried' ? first : second;
  return typeof decisive === 'object' ? decisive.reason : undefined;
}

const ENCODING = `SELECT current_setting('server_encoding') AS encoding`;
const ENCODINGS = ['UTF8', 'SQL_ASCII'];

async function addTenant(query: Query): Promise<string> {
  const [table] = await rowsOf<{ name: string }>(query, TENANTS);
  const id = randomUUID();
  await rowsOf(query, `INSERT INTO ${table?.name ?? 'elo_t_tenants'} (id, name) VALUES ($1, 'rehearsal')`, [id]);
  return id;
}

async function findTenant(query: Query): Promise<string | undefined> {
  const [tenant] = await rowsOf<{ id: string }>(query, 'SELECT id::text AS id FROM elo_v_agent_tenants LIMIT 1');
  return tenant?.id;
}

/** `untried`: without a tenant, with a lock held elsewhere, on a standby, or as a role that may not write. */
type Outcome = 'fit' | 'untried' | { readonly reason: string };

/** The statement locks several tables, so it must not wait long for one of them. */
const LIMITS = `SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '10s'`;

async function rehearse(query: Query, tenantOf: (query: Query) => Promise<string | undefined>): Promise<Outcome> {
  await rowsOf(query, 'SAVEPOINT rehearsal');
  const outcome = await rowsOf(query, LIMITS)
    .then(() => tenantOf(query))
    .then((id) => (id === undefined ? 'untried' : writeAndRead(query, id)))
    .catch(outcomeOf);
  await rowsOf(query, 'ROLLBACK TO SAVEPOINT rehearsal; RELEASE SAVEPOINT rehearsal');
  return outcome;
}

const LACKS_PRIVILEGE = '42501';
/** Matches the refusal of a policy on the bill, which the server reports as a missing privilege. */
const ROW_SECURITY = /row-level security policy .*"elo_t_token_usage"/;

function outcomeOf(error: unknown): Outcome {
  if (!isRuntimeError(error)) throw error;
  const sqlState = sqlStateOf(error.cause);
  const isRight = sqlState === LACKS_PRIVILEGE && !ROW_SECURITY.test(wordsOfServer(error));
  const isOfSchema = !error.retryable && sqlState !== undefined && !isRight;
  return isOfSchema ? { reason: wordsOfServer(error) } : 'untried';
}

/** Returns the server's message with its detail, which names columns, but for one that holds a row. */
export function wordsOfServer({ cause, message: otherwise }: Error): string {
  const { message = otherwise, detail = '' } = (cause ?? {}) as { readonly message?: string; readonly detail?: string };
  return detail === '' || detail.startsWith('Failing row') ? message : `${message}: ${detail.replace(/[.]$/, '')}`;
}

/** Returns the columns of an adopted bill that are of a type or too small for what a run writes: the server does not name them. */
export async function findMisfits(query: Query): Promise<string | undefined> {
  const columns = await rowsOf<{ name: string }>(query, MISFITS);
  return columns.length === 0 ? undefined : columns.map(({ name }) => name).join('; ');
}

const MISFITS = `
SELECT format('elo_t_token_usage.%s is %s, not %s', wanted.name, format_type(atttypid, atttypmod), wanted.type) AS name
FROM (VALUES
  ('tenant_id', 'uuid', NULL), ('task_id', 'varchar(200)', 200), ('trace_id', 'varchar(100)', 100),
  ('model_id', 'varchar(100)', 100), ('task_type', 'varchar(50)', 50), ('agent_tier', 'varchar(20)', 20),
  ('prompt_tokens', 'int', NULL), ('completion_tokens', 'int', NULL), ('total_tokens', 'int', NULL),
  ('cost_usd', 'numeric(12,8)', NULL)
) AS wanted (name, type, length)
JOIN pg_attribute ON attrelid = to_regclass('elo_t_token_usage') AND attname = wanted.name AND NOT attisdropped
WHERE CASE wanted.type
  WHEN 'uuid' THEN atttypid <> 'uuid'::regtype
  WHEN 'int' THEN atttypid = 'int2'::regtype
  WHEN 'numeric(12,8)' THEN atttypid = 'numeric'::regtype AND atttypmod > 0
    AND ((atttypmod - 4) >> 16) - ((atttypmod - 4) & 2047) < 4
  ELSE atttypid IN ('varchar'::regtype, 'bpchar'::regtype) AND atttypmod BETWEEN 0 AND wanted.length + 3
END
UNION ALL
SELECT CASE
  WHEN id.atttypid <> 'uuid'::regtype THEN format('%s.id is %s, not uuid', attrelid::regclass, format_type(atttypid, atttypmod))
  ELSE format('%s.id is no key: it needs PRIMARY KEY or UNIQUE', attrelid::regclass)
END
FROM pg_attribute AS id
WHERE attrelid = coalesce(to_regclass('elo_t_tenants'), to_regclass('elo_tenants')) AND attname = 'id' AND NOT attisdropped
  AND (atttypid <> 'uuid'::regtype OR NOT EXISTS (
    SELECT FROM pg_index AS key WHERE key.indrelid = attrelid AND key.indisunique AND key.indimmediate AND key.indpred IS NULL
      AND key.indnkeyatts = 1 AND key.indkey[0] = id.attnum
  ))`;

const COST_USD = '0.12345678';
const USAGE = {
  ...{ promptTokens: 100_000, completionTokens: 1000, cachedTokens: 50_000 },
  ...{ cacheWriteTokens: 0, cacheWrite1hTokens: 0, reasoningTokens: 500 },
};
/** Each after so many calls. */
const EXPECTED = { 1: { tokens: 101_000, costUsd: 0.12345678 }, 2: { tokens: 202_000, costUsd: 0.24691356 } };

async function writeAndRead(query: Query, tenantId: string): Promise<Outcome> {
  const key = { tenantId, taskId: randomUUID(), runId: randomUUID() };
  const [tier] = await rowsOf<{ code: string; model: string }>(query, TIER);
  const { code = 'pro', model: modelRequested = 'rehearsal' } = tier ?? {};
  await query(claimRunStatement({ ...key, digest: 'd'.repeat(64), fresh: false, leaseMs: 60_000, modelRequested }));
  const progress = (step: number): RunProgress => ({
    ...{ ...key, leaseMs: 60_000, clientId: 'c', dialogId: 'd', userId: 'u', sessionId: 's' },
    closed: [
      { step, modelRequested, modelBilled: modelRequested, usage: USAGE, costUsd: COST_USD, unansweredRequests: 0 },
    ],
    bill: { traceId: 't', tier: code, taskType: 'ai_agent', modelRequested },
  });
  await query(recordProgressStatement(progress(1), NOTHING_KEPT));
  const [first] = await rowsOf<Line>(query, LINE, [tenantId, key.taskId]);
  const afterOne = compare(first, 1);
  if (afterOne !== 'fit') return afterOne;
  const end = { state: 'done', result: {} as AgentResult, lastStep: 2 } as const;
  await query(recordProgressStatement({ ...progress(2), end }, NOTHING_KEPT));
  await rowsOf(query, 'SET CONSTRAINTS ALL IMMEDIATE');
  const [line] = await rowsOf<Line>(query, LINE, [tenantId, key.taskId]);
  return compare(line, 2);
}

const TIER = 'SELECT code, model_id AS model FROM elo_agent_tiers ORDER BY code LIMIT 1';
const NOTHING_KEPT = { journal: [] };

interface Line {
  readonly tokens: string;
  readonly cost: string;
  readonly exact: string;
  readonly type: string;
  /** False for a line that no month's limit would count. */
  readonly isOfToday: boolean;
}

const LINE = `SELECT total_tokens::text AS tokens, cost_usd::numeric::text AS cost, cost_exact::text AS exact, (
  SELECT format_type(atttypid, atttypmod) FROM pg_attribute
  WHERE attrelid = 'elo_t_token_usage'::regclass AND attname = 'cost_usd') AS type,
  coalesce(abs(extract(epoch FROM created_at - now())) < 86400, true) AS "isOfToday"
FROM elo_t_token_usage WHERE tenant_id = $1 AND task_id = $2 AND run_id IS NOT NULL`;

function compare(line: Line | undefined, calls: keyof typeof EXPECTED): Outcome {
  const { tokens, costUsd } = EXPECTED[calls];
  if (line === undefined) return { reason: 'a trigger or rule drops the lines of elo_t_token_usage' };
  if (!line.isOfToday) return { reason: 'elo_t_token_usage.created_at does not become the time of the line' };
  const figures = [line.tokens, line.cost, line.exact].map(Number);
  if (String(figures) === String([tokens, costUsd, costUsd])) return 'fit';
  const read = `${line.tokens} tokens and $${line.cost}, as elo_t_token_usage.cost_usd is ${line.type}`;
  return { reason: `a line of ${tokens} tokens and $${costUsd} reads back as ${read}` };
}

async function rowsOf<Row>(query: Query, text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
  return query<Row>({ text, values });
}
