// Our worker as it is run: the command line in a process of its own, tasks pushed to the list, answers taken off their key.
import { mkdirSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { freePort } from '../../scripts/lib/ports.mjs';
import { startProcess } from '../loop/start-process.mjs';
import { ANSWER, messageAt, now, SYSTEM_PROMPT, TIER } from './scenario.mjs';
import { cliPath } from './stack.mjs';

const LIST = 'elo:tasks:pending';
const DEAD_LIST = 'elo:tasks:failed';
const DEADLINE_MS = 120_000;
const here = (name) => new URL(name, import.meta.url);
let batches = 0;

export async function startOurWorker({ stack, database, concurrency }) {
  const redis = stack.redis.duplicate({ db: database });
  redis.on('error', () => undefined);
  const port = await freePort();
  mkdirSync(fileURLToPath(here('../../.cache')), { recursive: true });
  const logPath = fileURLToPath(here(`../../.cache/bench-queue-worker-${concurrency}.log`));
  const log = openSync(logPath, 'w');
  const child = startProcess(`file://${cliPath}`, ['worker'], {
    execArgv: ['--expose-gc', '--import', here('probe.mjs').href],
    stdio: ['ignore', log, log, 'ipc'],
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: stack.databaseUrl,
      REDIS_URL: stack.redisUrl(database),
      OPENROUTER_API_KEY: 'sk-bench',
      OPENROUTER_BASE_URL: `${stack.model.url}/v1`,
      AGENT_WORKER_CONCURRENCY: String(concurrency),
      AGENT_WORKER_HOST: '127.0.0.1',
      AGENT_WORKER_PORT: String(port),
    },
  });
  await waitUntilHealthy({ port, child, logPath });

  async function run({ tasks, withTool }) {
    batches += 1;
    const key = `elo:results:bench-${batches}`;
    const tenants = withTool ? stack.tenants.withTool : stack.tenants.plain;
    const bodies = Array.from({ length: tasks }, (_, index) =>
      JSON.stringify(taskOf({ id: `bench-${batches}-${index}`, tenant: tenants[index % tenants.length], key })),
    );
    const startedAt = performance.now();
    await redis.lpush(LIST, ...bodies);
    await waitForResults({ redis, key, tasks, logPath });
    const wallMs = performance.now() - startedAt;
    await check({ redis, key, tasks });
    return { wallMs };
  }

  return {
    run,
    child,
    stop: async () => {
      child.stop();
      redis.disconnect();
    },
  };
}

const taskOf = ({ id, tenant, key }) => ({
  task_id: id,
  trace_id: id,
  task_type: 'ai_agent',
  config: { agent_tier: TIER, system_prompt: SYSTEM_PROMPT, message: messageAt(now()) },
  meta: { tenant_id: tenant },
  callback: { result_key: key },
});

async function waitUntilHealthy({ port, child, logPath }) {
  let ended = false;
  child.nextMessage().catch(() => (ended = true));
  const deadline = performance.now() + 30_000;
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
    if (response?.ok) return;
    if (ended || performance.now() > deadline) throw new Error(`The worker did not start:\n${endOf(logPath)}`);
    await wait(50);
  }
}

/** Asked for at steps that are small beside a batch, and cost Redis next to nothing. */
async function waitForResults({ redis, key, tasks, logPath }) {
  const deadline = performance.now() + DEADLINE_MS;
  const step = tasks < 10 ? 1 : 5;
  for (;;) {
    const done = await redis.llen(key);
    if (done >= tasks) return;
    if (performance.now() > deadline) {
      const dead = await redis.lrange(DEAD_LIST, 0, 2);
      throw new Error(`${done} results for ${tasks} tasks. Dead: ${dead.join('\n')}\n${endOf(logPath)}`);
    }
    await wait(step);
  }
}

/** A worker that does less, or something else, fails the benchmark. */
async function check({ redis, key, tasks }) {
  const reports = (await redis.lrange(key, 0, -1)).map((text) => JSON.parse(text));
  const wrong = reports.find(({ error, result }) => error !== null || !JSON.stringify(result).includes(ANSWER));
  if (wrong !== undefined) throw new Error(`A wrong result: ${JSON.stringify(wrong)}`);
  const ids = new Set(reports.map((report) => report.task_id));
  if (ids.size !== tasks || reports.length !== tasks) {
    throw new Error(`${reports.length} results of ${ids.size} tasks, not ${tasks}`);
  }
  const dead = await redis.llen(DEAD_LIST);
  if (dead > 0) throw new Error(`${dead} tasks are dead: ${await redis.lindex(DEAD_LIST, 0)}`);
  await redis.del(key);
}

const endOf = (logPath) => readFileSync(logPath, 'utf8').slice(-3000);
