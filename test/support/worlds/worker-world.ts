import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { DeadEntry } from '../../../runtime/queue/jobs/dead-letter';
import { addTenant, addTool, createMigratedDatabase, enableTool, type TestDatabase } from '../servers/database';
import { type ReceivedRequest, sendJson, startServer, type TestServer } from '../servers/http-server';
import { type ModelServer, startModelServer, textReply } from '../servers/model-server';
import { startRedis, type TestRedis } from '../servers/redis';
import { startTcpProxy, type TcpProxy } from '../servers/tcp-proxy';
import { untilTrue } from '../values/until';
import { type CliOutcome, type CliRun, startCli } from './cli';

/** A line of a worker's log. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [fact: string]: unknown;
}

export interface WorkerRun extends CliRun {
  readonly lines: () => LogLine[];
  /** All that it wrote, on either output. */
  readonly output: () => string;
  /** Waits until it has said so; gives the newest such line. */
  readonly says: (message: string, times?: number) => Promise<LogLine>;
  readonly kill: (signal?: NodeJS.Signals) => Promise<CliOutcome>;
}

export interface StartWorker {
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** JavaScript that the process runs before anything of ours. */
  readonly preload?: string;
}

export interface Order {
  readonly task_id: string;
  readonly [more: string]: unknown;
}

export interface WorkerWorld {
  readonly database: () => TestDatabase;
  /** What the workers' Postgres goes through. */
  readonly postgres: () => TcpProxy;
  readonly redis: () => TestRedis;
  readonly models: () => ModelServer;
  /** The server of the tools `pay` and `look`; `answer` may be changed until the end of the test. */
  readonly tools: () => TestServer & { answer: Parameters<typeof startServer>[0] };
  /** Gets webhooks, on an allowed host; `answer` likewise. */
  readonly hooks: () => TestServer & { answer: Parameters<typeof startServer>[0] };
  readonly tenantId: () => string;
  readonly startWorker: (options?: StartWorker) => WorkerRun;
  /** A task for the model with a result key of its own. */
  readonly order: (more?: Readonly<Record<string, unknown>>, meta?: Readonly<Record<string, unknown>>) => Order;
  readonly push: (...tasks: readonly unknown[]) => Promise<void>;
  /** What stands under the result key of the task. */
  readonly reports: (taskId: string) => Promise<Record<string, unknown>[]>;
  /** Waits for the first report of each task; gives them in the same order. */
  readonly reported: (...tasks: readonly Order[]) => Promise<Record<string, unknown>[]>;
  readonly dead: () => Promise<DeadEntry[]>;
  /** Calls of a tool for a task that its server received. */
  readonly received: (tool: string, taskId: string) => readonly ReceivedRequest[];
  readonly webhooks: (taskId: string) => readonly ReceivedRequest[];
  /** The lines of the bill. */
  readonly bill: (taskId: string) => Promise<{ model_calls: number; total_tokens: number }[]>;
  /** Model calls on record, and whether they are known to have ended. */
  readonly calls: (taskId: string) => Promise<{ closed: boolean }[]>;
}

export const API_KEY = 'CANARY-api-key';
export const WEBHOOK_SECRET = 'CANARY-webhook-secret';
/** Leases of one second, so that lost workers are missed soon. */
export const LEASE_SECONDS = 2;

type Answering = TestServer & { answer: Parameters<typeof startServer>[0] };

async function startAnswering(usual: Parameters<typeof startServer>[0]): Promise<Answering> {
  const server = await startServer((request, response) => answering.answer(request, response));
  const answering: Answering = { ...server, answer: usual };
  return answering;
}

/** A database behind a proxy, a durable Redis, a model, tools, a receiver of webhooks, and the built worker. */
export function workerWorld(settings: { readonly redis?: readonly string[] } = {}): WorkerWorld {
  interface Servers {
    readonly database: TestDatabase;
    readonly postgres: TcpProxy;
    readonly redis: TestRedis;
    readonly models: ModelServer;
    readonly tools: Answering;
    readonly hooks: Answering;
    readonly tenantId: string;
  }
  let now: Servers;
  const workers: CliRun[] = [];
  const usual: Parameters<typeof startServer>[0] = (_request, response) => sendJson(response, { ok: true });

  beforeAll(async () => {
    const database = await createMigratedDatabase();
    const [redis, models, tools, hooks, postgres, tenantId] = await Promise.all([
      startRedis({ durable: true, settings: settings.redis }),
      startModelServer(),
      startAnswering(usual),
      startAnswering(usual),
      startTcpProxy(database.url),
      addTenant(database),
    ]);
    now = { database, redis, models, tools, hooks, postgres, tenantId };
    const schema = { type: 'object', properties: { text: { type: 'string' } } };
    for (const code of ['pay', 'look']) {
      const toolId = await addTool(database, { code, endpoint: tools.url, schema });
      await enableTool(database, {
        tenantId,
        toolId,
        ...(code === 'look' ? { customConfig: { repeatable: true } } : {}),
      });
    }
  });
  beforeEach(async () => {
    await now.redis.client.flushall();
    now.models.script();
    now.models.always(() => textReply('The answer').body);
    now.tools.answer = usual;
    now.hooks.answer = usual;
    now.postgres.up();
  });
  afterEach(async () => {
    for (const { process: worker } of workers) {
      worker.kill('SIGCONT');
      worker.kill('SIGKILL');
    }
    await Promise.all(workers.splice(0).map(({ ended }) => ended));
  });
  afterAll(async () => {
    await Promise.all([
      now.models.close(),
      now.tools.close(),
      now.hooks.close(),
      now.postgres.close(),
      now.redis.close(),
    ]);
    await now.database.close();
  });

  const reports = async (taskId: string): Promise<Record<string, unknown>[]> =>
    (await now.redis.client.lrange(`elo:results:${taskId}`, 0, -1)).map((entry) => JSON.parse(entry) as never);
  return {
    database: () => now.database,
    postgres: () => now.postgres,
    redis: () => now.redis,
    models: () => now.models,
    tools: () => now.tools,
    hooks: () => now.hooks,
    tenantId: () => now.tenantId,
    startWorker: ({ env = {}, args = [], preload } = {}) => {
      const run = startCli(['worker', ...args], {
        env: {
          DATABASE_URL: now.postgres.url,
          REDIS_URL: now.redis.url,
          OPENROUTER_API_KEY: API_KEY,
          OPENROUTER_BASE_URL: now.models.url,
          AGENT_WORKER_PORT: '0',
          AGENT_LEASE_SECONDS: String(LEASE_SECONDS),
          AGENT_CALLBACK_HOSTS: '127.0.0.1',
          AGENT_WEBHOOK_SECRET: WEBHOOK_SECRET,
          ...(preload === undefined
            ? {}
            : { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}` }),
          ...env,
        },
      });
      workers.push(run);
      return watchWorker(run);
    },
    order: (more = {}, meta = {}) => {
      const taskId = randomUUID();
      return {
        task_id: taskId,
        trace_id: taskId,
        task_type: 'ai_agent',
        config: { agent_tier: 'pro', message: `Do ${taskId}` },
        meta: { tenant_id: now.tenantId, ...meta },
        callback: { result_key: `elo:results:${taskId}` },
        ...more,
      };
    },
    push: async (...tasks) => {
      const entries = tasks.map((task) =>
        typeof task === 'string' || Buffer.isBuffer(task) ? task : JSON.stringify(task),
      );
      await now.redis.client.lpush('elo:tasks:pending', ...entries);
    },
    reports,
    reported: async (...tasks) => {
      await untilTrue(async () => {
        const all = await Promise.all(tasks.map(({ task_id: taskId }) => reports(taskId)));
        return all.every((list) => list.length > 0);
      });
      return (await Promise.all(tasks.map(({ task_id: taskId }) => reports(taskId)))).map(([first]) => first ?? {});
    },
    dead: async () =>
      (await now.redis.client.lrange('elo:tasks:failed', 0, -1)).map((entry) => JSON.parse(entry) as DeadEntry),
    received: (tool, taskId) =>
      now.tools.requests.filter(({ body }) => body.includes(taskId) && body.includes(`"tool":"${tool}"`)),
    webhooks: (taskId) => now.hooks.requests.filter(({ body }) => body.includes(taskId)),
    bill: (taskId) =>
      now.database.query('SELECT model_calls, total_tokens FROM elo_t_token_usage WHERE task_id = $1', [taskId]),
    calls: (taskId) =>
      now.database.query(
        'SELECT closed_at IS NOT NULL AS closed FROM elo_agent_model_calls WHERE task_id = $1 ORDER BY opened_at, call_no',
        [taskId],
      ),
  };
}

/** Reads the log of a worker. */
export function watchWorker(run: CliRun): WorkerRun {
  let stdout = '';
  let output = '';
  run.process.stdout?.on('data', (text: string) => {
    stdout += text;
    output += text;
  });
  run.process.stderr?.on('data', (text: string) => (output += text));
  const lines = (): LogLine[] =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as LogLine);
  return {
    ...run,
    lines,
    output: () => output,
    says: async (message, times = 1) => {
      const found = (): LogLine[] => lines().filter(({ msg }) => msg === message);
      await untilTrue(() => Promise.resolve(found().length >= times), 60_000).catch((error: unknown) => {
        throw new Error(`the worker never said "${message}", but:\n${output.slice(-3000)}`, { cause: error });
      });
      return found().at(-1) as LogLine;
    },
    kill: (signal = 'SIGKILL') => {
      run.process.kill(signal);
      return run.ended;
    },
  };
}

/** Resolves once what was going to happen has had its time: for the proof that something does not happen. */
export async function settled(ms = 1000): Promise<void> {
  await sleep(ms);
}
