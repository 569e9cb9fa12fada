import * as z from 'zod/v4';

import type { AgentResult } from '../contracts/result';
import { RuntimeError } from '../errors/runtime-error';
import type { Postgres } from '../storage/postgres/pool';
import {
  getRun,
  listModelCalls,
  listRuns,
  listWaiting,
  type ModelCallEntry,
  type RunEntry,
  type WaitingEntry,
} from '../storage/sql/admin/list-runs';
import { listExecutionsStatement } from '../storage/sql/list-executions';
import { tenantExistsStatement } from '../storage/sql/usage-report';
import type { Query } from '../storage/statement';
import { parseExactly } from '../util/exact-integer';
import type { JsonObject } from '../util/json';
import { strictObject } from '../util/known-keys';
import type { AdminHost } from './check-address';
import { cursorField, limitField, readInput, tenantIdField, toCursor, toPage } from './read-input';

/** A run, its result, and what it did. */
export interface RunDetails extends RunEntry {
  /** Null while it runs; results are kept for 30 days. */
  readonly result: AgentResult | null;
  readonly model_calls: readonly ModelCallEntry[];
  /** Lines of the audit. */
  readonly tool_calls: readonly JsonObject[];
}

/** The runs of a tenant. Every method rejects with ADMIN_INPUT_INVALID, TENANT_NOT_FOUND, RUN_NOT_FOUND or a DB_ code. */
export interface RunAdmin {
  /** The newest first. */
  readonly list: (query: {
    readonly tenantId: string;
    readonly state?: 'running' | 'waiting' | 'done' | 'failed';
    readonly limit?: number;
    readonly after?: string;
  }) => Promise<{ readonly runs: readonly RunEntry[]; readonly next: string | null }>;
  /** One run, by its id or by the id of its task. */
  readonly get: (query: { readonly tenantId: string; readonly id: string }) => Promise<RunDetails>;
}

/** Tool calls that wait for a person. Every method rejects with ADMIN_INPUT_INVALID or a DB_ code. */
export interface ApprovalAdmin {
  /** The longest waiting first; of one tenant, or of all. */
  readonly list: (query?: {
    readonly tenantId?: string;
    readonly limit?: number;
  }) => Promise<{ readonly approvals: readonly WaitingEntry[] }>;
  /** Goes on with the run, and gives its result; needs a model. Rejects as a run does, with APPROVAL_UNKNOWN where nothing waits. */
  readonly decide: (
    decision: {
      readonly tenantId: string;
      readonly runId: string;
      readonly decision: 'approve' | 'deny';
      /** Who decides; stands in the audit. */
      readonly userId?: string;
    },
    host?: AdminHost,
  ) => Promise<AgentResult>;
}

const SHAPES = {
  list: strictObject({
    tenantId: tenantIdField,
    state: z.enum(['running', 'waiting', 'done', 'failed']).optional(),
    limit: limitField.default(50),
    after: cursorField(z.tuple([z.string().regex(/^\d{1,12}(\.\d{1,6})?$/), z.string()])).optional(),
  }),
  get: strictObject({ tenantId: tenantIdField, id: z.string().min(1).max(200) }),
  waiting: strictObject({ tenantId: tenantIdField.optional(), limit: limitField.default(100) }),
  decide: strictObject({
    tenantId: tenantIdField,
    runId: z.uuid(),
    decision: z.enum(['approve', 'deny']),
    userId: z.string().max(200).optional(),
  }),
};

export function createRunAdmin({ query }: Postgres): RunAdmin {
  return {
    list: async (input) => {
      const { limit, after: [afterTime, afterTask] = [], ...given } = readInput(SHAPES.list, input, 'runs list');
      await checkTenant(query, given.tenantId);
      const rows = await query<RunEntry & { created_epoch: string }>(
        listRuns({ ...given, afterTime, afterTask, rows: limit + 1 }),
      );
      const page = toPage(rows, limit, (run) => toCursor([run.created_epoch, run.task_id]));
      return { runs: page.rows.map(({ created_epoch: _epoch, ...run }) => run), next: page.next };
    },
    get: async (input) => {
      const given = readInput(SHAPES.get, input, 'runs get');
      await checkTenant(query, given.tenantId);
      const [run] = await query<RunEntry & { result: string | null }>(getRun(given));
      if (run === undefined) throw new RuntimeError('RUN_NOT_FOUND', given);
      const { tenantId } = given;
      const [modelCalls, toolCalls] = await Promise.all([
        query<ModelCallEntry>(listModelCalls({ tenantId, taskId: run.task_id })),
        query<JsonObject>(listExecutionsStatement(tenantId, run.task_id)),
      ]);
      const result = run.result === null ? null : (parseExactly(run.result) as AgentResult);
      return { ...run, result, model_calls: modelCalls, tool_calls: toolCalls };
    },
  };
}

/** Rejects with TENANT_NOT_FOUND. */
export async function checkTenant(query: Query, tenantId: string): Promise<void> {
  const [tenant] = await query(tenantExistsStatement(tenantId));
  if (tenant === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
}

export function createApprovalAdmin(
  { query }: Postgres,
  run: (task: JsonObject, host: AdminHost) => Promise<AgentResult>,
): ApprovalAdmin {
  return {
    list: async (input) => {
      const { limit, tenantId } = readInput(SHAPES.waiting, input, 'approvals list');
      if (tenantId !== undefined) await checkTenant(query, tenantId);
      return { approvals: await query<WaitingEntry>(listWaiting({ tenantId, rows: limit })) };
    },
    decide: async (input, host = {}) => {
      const { tenantId, runId, decision, userId } = readInput(SHAPES.decide, input, 'approvals decide');
      return run(
        {
          config: { approval: { run_id: runId, decision } },
          meta: { tenant_id: tenantId, ...(userId === undefined ? {} : { user_id: userId }) },
        },
        host,
      );
    },
  };
}
