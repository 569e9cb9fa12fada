import { randomUUID } from 'node:crypto';

import type { RunProgress } from '../../contracts/ledger/ledger';
import type { AgentResult } from '../../contracts/result';
import { isRuntimeError } from '../../errors/runtime-error';
import { sqlStateOf } from '../postgres/database-errors';
import { claimRunStatement } from '../sql/ledger/claim-run';
import { recordProgressStatement } from '../sql/ledger/record-progress';
import { loadTenantsStatement } from '../sql/load-tenants';
import type { Query } from '../statement';
import { findForeignTypes, findMisfits, wordsOfServer } from './misfits';
import { TENANTS } from './schema-gaps';

/**
 * Writes a run and its line of the bill as a run does, reads the line back and undoes it. Returns why the line cannot be written or is not
 * exact; undefined if it is exact, and if it cannot be tried: for now, by this role, or without a tenant. Must be called in a transaction.
 */
export async function rehearseBill(query: Query): Promise<string | undefined> {
  return (await findUnfit(query)) ?? rehearseWithTenants(query, writeUsualLines);
}

/** The same with lines that a bill in use may never meet: all tiers, other models, long ids, a high cost. */
export async function rehearseRareLines(query: Query): Promise<string | undefined> {
  return rehearseWithTenants(query, writeRareLines);
}

async function findUnfit(query: Query): Promise<string | undefined> {
  const [{ encoding } = { encoding: '' }] = await rowsOf<{ encoding: string }>(query, ENCODING);
  if (!ENCODINGS.includes(encoding))
    return `the database has the encoding ${encoding}, which lacks characters that models write; it must be UTF8`;
  return findMisfits(query);
}

async function rehearseWithTenants(query: Query, write: Write): Promise<string | undefined> {
  // A new tenant blocks no other write. An installation's own tables may want more of a tenant than its name.
  const first = await rehearse(query, write, addTenants);
  if (first === 'fit') return undefined;
  const second = await rehearse(query, write, findTenants);
  const decisive = second === 'untried' ? first : second;
  return typeof decisive === 'object' ? decisive.reason : undefined;
}

const ENCODING = `SELECT current_setting('server_encoding') AS encoding`;
const ENCODINGS = ['UTF8', 'SQL_ASCII'];

/** Returns none where none can be added: the installation's own program makes them, with more than we know of. */
async function addTenants(query: Query): Promise<readonly string[]> {
  const [table] = await rowsOf<{ name: string }>(query, TENANTS);
  const ids = [randomUUID(), randomUUID()];
  const text = `INSERT INTO ${table?.name ?? 'elo_t_tenants'} (id, name) SELECT id, left(id::text, 13) FROM unnest($1::uuid[]) AS id`;
  return rowsOf(query, text, [ids]).then(
    () => ids,
    (error: unknown) => (isRuntimeError(error) ? [] : Promise.reject(error as Error)),
  );
}

async function findTenants(query: Query): Promise<readonly string[]> {
  const tenants = await rowsOf<{ id: string }>(query, 'SELECT id::text AS id FROM elo_v_agent_tenants LIMIT 2');
  return tenants.map(({ id }) => id);
}

/** `untried`: without a tenant, with a lock held elsewhere, on a standby, or as a role that may not write. */
type Outcome = 'fit' | 'untried' | { readonly reason: string };

/** The statement locks several tables, so it must not wait long for one of them. */
const LIMITS = `SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '10s'`;

type Write = (query: Query, tenantIds: readonly string[]) => Promise<Outcome>;

async function rehearse(query: Query, write: Write, tenantsOf: typeof findTenants): Promise<Outcome> {
  const foreignTypes = await findForeignTypes(query);
  await rowsOf(query, 'SAVEPOINT rehearsal');
  const outcome = await rowsOf(query, LIMITS)
    .then(() => tenantsOf(query))
    .then((ids) => (ids.length === 0 ? 'untried' : write(query, ids)))
    .catch((error: unknown) => outcomeOf(error, foreignTypes));
  await rowsOf(query, 'ROLLBACK TO SAVEPOINT rehearsal; RELEASE SAVEPOINT rehearsal');
  return outcome;
}

const LACKS_PRIVILEGE = '42501';
const IS_THERE = '23505';
/** Matches the refusal of a policy on the bill, which the server reports as a missing privilege. */
const ROW_SECURITY = /row-level security policy .*"elo_t_token_usage"/;

function outcomeOf(error: unknown, foreignTypes: readonly string[]): Outcome {
  if (!isRuntimeError(error)) throw error;
  const sqlState = sqlStateOf(error.cause);
  // Lines of one transaction have one time, those of runs have not.
  if (sqlState === IS_THERE && /\bcreated_at\b/.test(wordsOfServer(error))) return 'untried';
  const isRight = sqlState === LACKS_PRIVILEGE && !ROW_SECURITY.test(wordsOfServer(error));
  const isOfSchema = !error.retryable && sqlState !== undefined && !isRight;
  return isOfSchema ? { reason: wordsOfServer(error, foreignTypes) } : 'untried';
}

/** Size of one model call of a rehearsed line. */
interface Scale {
  readonly costUsd: string;
  readonly promptTokens: number;
}

const USUAL: Scale = { costUsd: '0.12345678', promptTokens: 100_000 };
const HIGH: Scale = { costUsd: '1000.12345678', promptTokens: 5_000_000 };
const COMPLETION_TOKENS = 1000;
const USAGE = { cachedTokens: 50_000, cacheWriteTokens: 0, cacheWrite1hTokens: 0, reasoningTokens: 500 };

/** A line of the bill that a run may write. */
interface Draft {
  readonly scale: Scale;
  readonly tenantId: string;
  readonly taskId: string;
  readonly tier: string;
  readonly modelId: string;
  readonly taskType: string;
  readonly traceId: string;
}

/** A line of one tenant for each tier that is billed; the first one grows, as that of a run with two steps. */
async function writeUsualLines(query: Query, [tenantId = '']: readonly string[]): Promise<Outcome> {
  await query(loadTenantsStatement({ tenantIds: [tenantId], modelIds: [] }));
  const tiers = (await rowsOf<Tier>(query, TIERS)).filter(({ isFree }) => !isFree);
  const draft = (tier: Tier = DRAFT): Draft => ({
    ...{ ...DRAFT, ...tier, scale: USUAL, tenantId, taskId: randomUUID(), traceId: randomUUID() },
  });
  const first = await writeTwice(query, draft(tiers[0]));
  if (first !== 'fit') return first;
  for (const tier of tiers.slice(1)) await writeAtOnce(query, draft(tier));
  await writeAtOnce(query, draft(tiers[0]));
  await rowsOf(query, 'SET CONSTRAINTS ALL IMMEDIATE');
  return 'fit';
}

/** Lines of two tenants with all that lines may have in common. */
async function writeRareLines(query: Query, [tenantId = '', otherTenant]: readonly string[]): Promise<Outcome> {
  const tiers = await rowsOf<Tier>(query, TIERS);
  const newTask = (): string => randomUUID().padEnd(200, '-');
  const traceId = 't'.repeat(100);
  const shared = { ...DRAFT, ...tiers[0], scale: HIGH, tenantId, taskId: newTask(), traceId };
  const first = await writeTwice(query, shared);
  if (first !== 'fit') return first;
  await writeAtOnce(query, { ...shared, taskId: newTask(), taskType: 'llm_generation' });
  for (const tier of tiers.filter(({ isFree }) => isFree)) {
    await writeAtOnce(query, { ...shared, ...tier, taskId: newTask() });
  }
  await writeAtOnce(query, { ...shared, taskId: newTask(), modelId: 'rehearsal/'.padEnd(100, 'm') });
  if (otherTenant !== undefined) await writeAtOnce(query, { ...shared, tenantId: otherTenant });
  await rowsOf(query, 'SET CONSTRAINTS ALL IMMEDIATE');
  return 'fit';
}

type Tier = Pick<Draft, 'tier' | 'modelId'> & { readonly isFree?: boolean };
const DRAFT = { tier: 'pro', modelId: 'rehearsal', taskType: 'ai_agent' };

async function writeTwice(query: Query, draft: Draft): Promise<Outcome> {
  const progress = await claim(query, draft);
  await query(recordProgressStatement(progress(1), NOTHING_KEPT));
  const afterOne = compare(await readLine(query, draft), draft.scale, 1);
  if (afterOne !== 'fit') return afterOne;
  await query(recordProgressStatement({ ...progress(2), end: END }, NOTHING_KEPT));
  await rowsOf(query, 'SET CONSTRAINTS ALL IMMEDIATE');
  return compare(await readLine(query, draft), draft.scale, 2);
}

async function writeAtOnce(query: Query, draft: Draft): Promise<void> {
  const progress = await claim(query, draft);
  await query(recordProgressStatement({ ...progress(1), end: END }, NOTHING_KEPT));
}

async function claim(
  query: Query,
  { tenantId, taskId, tier, modelId: modelRequested, taskType, traceId, scale }: Draft,
): Promise<(step: number) => RunProgress> {
  const key = { tenantId, taskId, runId: randomUUID() };
  await query(claimRunStatement({ ...key, digest: 'd'.repeat(64), fresh: false, leaseMs: 60_000, modelRequested }));
  const { costUsd, promptTokens } = scale;
  const usage = { ...USAGE, promptTokens, completionTokens: COMPLETION_TOKENS };
  return (step) => ({
    ...{ ...key, leaseMs: 60_000, clientId: 'c', dialogId: 'd', userId: 'u', sessionId: 's' },
    closed: [{ step, modelRequested, modelBilled: modelRequested, usage, costUsd, unansweredRequests: 0 }],
    bill: { traceId, tier, taskType, modelRequested },
  });
}

async function readLine(query: Query, { tenantId, taskId }: Draft): Promise<Line | undefined> {
  const [line] = await rowsOf<Line>(query, LINE, [tenantId, taskId]);
  return line;
}

const TIERS = `SELECT code AS tier, model_id AS "modelId", coalesce(is_free::text, '') IN ('true', 't', '1') AS "isFree" FROM elo_agent_tiers
WHERE code IS NOT NULL AND model_id IS NOT NULL ORDER BY 3, 1 LIMIT 20`;
const END = { state: 'done', result: {} as AgentResult, lastStep: 2 } as const;
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

/** Compares the line with what so many calls cost. */
function compare(line: Line | undefined, scale: Scale, calls: number): Outcome {
  const tokens = calls * (scale.promptTokens + COMPLETION_TOKENS);
  const costUsd = calls * Number(scale.costUsd);
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
