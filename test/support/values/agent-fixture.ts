import { randomUUID } from 'node:crypto';

import type { RuntimePlugins } from '../../../runtime';
import { type AgentResult, createRuntime, type Runtime, type RuntimeError, type Tool } from '../../../runtime';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../servers/database';
import { type ModelServer, type ModelServerRequest, startModelServer } from '../servers/model-server';

export interface UsageRow {
  readonly trace_id: string | null;
  readonly task_id: string;
  readonly run_id: string;
  readonly model_id: string;
  readonly agent_tier: string;
  readonly task_type: string;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly model_calls: number;
  readonly cost_usd: string;
  readonly cost_exact: string;
  readonly provider_cost_usd: string | null;
}

export interface RunRow {
  readonly run_id: string;
  readonly state: string;
  readonly attempt: number;
  readonly lease_until: Date | null;
  readonly result: AgentResult | null;
}

export interface AgentFixture {
  readonly database: TestDatabase;
  readonly models: ModelServer;
  readonly runtime: Runtime;
  readonly tenantId: string;
  /** The ledger's lines of a task, oldest first. */
  readonly usageRows: (taskId: string) => Promise<UsageRow[]>;
  /** The row that decides who runs a task. */
  readonly runRow: (taskId: string) => Promise<RunRow>;
  /** The requests that the model server got for a task made by `aTask`. */
  readonly modelCalls: (taskId: string) => readonly ModelServerRequest[];
  readonly close: () => Promise<void>;
}

/** A migrated database with one tenant, a scripted model server, and a runtime on both with a tool named `echo`. */
export async function startAgentFixture(
  plugins: (database: TestDatabase) => RuntimePlugins = () => ({}),
): Promise<AgentFixture> {
  const database = await createMigratedDatabase();
  const models = await startModelServer();
  const tenantId = await addTenant(database);
  const runtime = createRuntime({
    database: { url: database.url },
    model: { apiKey: 'sk-test-key', baseUrl: models.url, maxRetries: 0 },
    plugins: { tools: [echoTool], ...plugins(database) },
  });
  return {
    database,
    models,
    runtime,
    tenantId,
    usageRows: (taskId) =>
      database.query<UsageRow>('SELECT * FROM elo_t_token_usage WHERE task_id = $1 ORDER BY id', [taskId]),
    runRow: async (taskId) => {
      const [row] = await database.query<RunRow>('SELECT * FROM elo_agent_runs WHERE task_id = $1', [taskId]);
      if (row === undefined) throw new Error(`task ${taskId} was never claimed`);
      return row;
    },
    modelCalls: (taskId) => models.received.filter((request) => JSON.stringify(request.messages).includes(taskId)),
    close: async () => {
      await runtime.close();
      await Promise.all([models.close(), database.close()]);
    },
  };
}

/** Answers with its arguments. */
export const echoTool: Tool = {
  definition: { name: 'echo', description: 'Answers with its arguments', inputSchema: { type: 'object' } },
  parseInput: (value) => ({ ok: true, value }),
  execute: (value) => Promise.resolve({ isError: false, value }),
};

export interface TestTask {
  readonly task_id: string;
  readonly trace_id: string;
  readonly config: Record<string, unknown>;
  readonly meta: { readonly tenant_id: string };
}

/** A task for the tier `pro`, whose message holds its id. */
export function aTask(tenantId: string, config: Record<string, unknown> = {}, taskId: string = randomUUID()): TestTask {
  return {
    task_id: taskId,
    trace_id: 'trace-1',
    config: { agent_tier: 'pro', message: `Do ${taskId}`, ...config },
    meta: { tenant_id: tenantId },
  };
}

/** The error that a run rejects with; fails the test when it does not reject. */
export async function failureOf(
  run: Promise<unknown>,
): Promise<RuntimeError & { readonly result: AgentResult | undefined }> {
  const outcome = await run.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome) return outcome.error as RuntimeError & { readonly result: AgentResult | undefined };
  throw new Error(`should have failed, but gave ${JSON.stringify(outcome.value)}`);
}

/** Resolves when `check` does with something other than undefined. It has no time limit of its own: the test has one. */
export async function eventually<T>(check: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (;;) {
    const value = await check();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A promise and the function that resolves it: a test's way to hold something back. */
export function gate<T = void>(): { readonly opened: Promise<T>; readonly open: (value: T) => void } {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { opened: promise, open: resolve };
}
