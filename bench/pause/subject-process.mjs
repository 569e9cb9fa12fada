// The process that is measured: a runtime, and a clock that notices when nobody comes to it.
import { createRequire } from 'node:module';

import { HEAVY_INPUTS, outcomeOf } from '../../test/support/values/heavy-inputs.ts';

const TICK_MS = 2;
const SETTLE_MS = 100;
const MEBIBYTE = 1024 * 1024;
let world;

function start({ runtimePath, databaseUrl, origin, tenants }) {
  const { createRuntime } = createRequire(import.meta.url)(runtimePath);
  const config = { database: { url: databaseUrl } };
  const runtimes = HEAVY_INPUTS.map(
    (_input, number) => () =>
      createRuntime({ ...config, model: { apiKey: 'bench-key', baseUrl: `${origin}/model/${number}`, maxRetries: 0 } }),
  );
  world = { origin, tenants, runtimes, ready: new Map() };
}

function runtimeOf(number) {
  const known = world.ready.get(number) ?? world.runtimes[number]();
  world.ready.set(number, known);
  return known;
}

/** What is to be done with the input; all that it needs of its own is made before the clock starts. */
function prepare(number) {
  const { kind, name, config, taskType, memory, outcomes } = HEAVY_INPUTS[number];
  const runtime = runtimeOf(number);
  const messages = memory?.();
  const connected = messages && { memory: { load: async () => messages, save: async () => {} } };
  const task = {
    task_type: taskType ?? 'ai_agent',
    config: { agent_tier: 'small', message: 'Go', ...config?.() },
    meta: { tenant_id: world.tenants[number] },
  };
  const work = () => (taskType === undefined ? runtime.run(task, { connected }) : runtime.handle(task));
  return async () => {
    const ended = outcomeOf(await work().catch((error) => error));
    // A list that was read once is remembered.
    if (![...outcomes, 'completed'].includes(ended))
      throw new Error(`${kind} ${name}: ${ended}, not ${outcomes.join(' or ')}`);
  };
}

const rss = () => process.memoryUsage.rss();

/** What this thread has worked. A machine that is busy with other things makes a turn longer, but no more work. */
const workedMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

async function measure(work) {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  globalThis.gc?.();
  const before = rss();
  let highest = before;
  let pauseMs = 0;
  let last = performance.now();
  let lastWorked = workedMs();
  const look = () => {
    const now = performance.now();
    const worked = workedMs();
    pauseMs = Math.max(pauseMs, Math.min(now - last - TICK_MS, worked - lastWorked));
    lastWorked = worked;
    highest = Math.max(highest, rss());
    last = now;
  };
  const timer = setInterval(look, TICK_MS);
  await work();
  look();
  clearInterval(timer);
  return { pauseMs, rssMb: (highest - before) / MEBIBYTE };
}

process.on('message', async ({ start: given, run }) => {
  try {
    if (given !== undefined) {
      start(given);
      // Loading packages is no input of anybody's.
      await prepare(HEAVY_INPUTS.findIndex(({ kind }) => kind === 'result'))();
      return process.send({});
    }
    const all = run.map(prepare);
    // Each comes with an event of its own, as requests do.
    const arriving = (one, index) => new Promise((resolve) => setTimeout(() => resolve(one()), index));
    process.send(await measure(() => Promise.all(all.map(arriving))));
  } catch (error) {
    process.send({ error: error.stack });
  }
});
process.on('disconnect', () => process.exit(0));
