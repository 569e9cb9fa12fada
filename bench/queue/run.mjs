// Tasks a second of our worker, beside a bare BullMQ worker that makes the same model calls with the `openai` client.
// Real Redis and Postgres; model server and workers are processes of their own. Run with --help for the options.
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';

import { REDIS, requirePrograms } from '../../scripts/lib/system-programs.mjs';
import { measureBatches, measureMemory, measureStarts, startWorkers } from './measure.mjs';
import { batchLines, memoryLines, startLine } from './report.mjs';
import { startStack } from './stack.mjs';

const USAGE = `node bench/queue/run.mjs [options]
  --rounds N            rounds that the medians are taken over (default 9)
  --concurrency A,B     default 1,10,100
  --latency A,B         of the model in ms (default 0,200)
  --memory N            tasks of the memory part (default 10000; 0 leaves it out)
  --appendfsync MODE    of Redis: no, everysec, always (default always, as compose.yaml has it)
  --fsync               Postgres waits for the disk too
  --profile             no figures: one batch of each, with CPU profiles in .cache/
  --quick               to see that it works, not for figures`;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string' },
    concurrency: { type: 'string', default: '1,10,100' },
    latency: { type: 'string', default: '0,200' },
    memory: { type: 'string' },
    appendfsync: { type: 'string', default: 'always' },
    fsync: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const numbersOf = (text) => text.split(',').map(Number);

function readSettings() {
  const concurrencies = numbersOf(options.concurrency);
  const latencies = numbersOf(options.latency);
  const share = options.quick ? 0.2 : 1;
  const batchesOf = (latency, withTool) =>
    concurrencies.map((concurrency) => ({
      latency,
      withTool,
      concurrency,
      tasks: Math.max(concurrency, Math.ceil(share * tasksOf({ latency, concurrency }))),
    }));
  return {
    concurrencies,
    rounds: Number(options.rounds ?? (options.quick ? 2 : 9)),
    memoryTasks: Number(options.memory ?? (options.quick ? 500 : 10_000)),
    starts: options.quick ? 20 : 200,
    batches: [...latencies.flatMap((latency) => batchesOf(latency, false)), ...batchesOf(0, true)],
  };
}

/** So many that a batch takes a second or two. */
function tasksOf({ latency, concurrency }) {
  if (latency > 0) return Math.max(8, concurrency * 10);
  return concurrency === 1 ? 300 : 1500;
}

const showProgress = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`);

async function main() {
  if (options.help) return console.log(USAGE);
  await requirePrograms([REDIS], { log: console.error });
  const settings = readSettings();
  const stack = await startStack({ appendfsync: options.appendfsync, fsync: options.fsync });
  const workers = [];
  try {
    workers.push(...(await startWorkers({ stack, concurrencies: settings.concurrencies })));
    await (options.profile ? profile : measure)({ stack, workers, settings });
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await stack.stop();
  }
}

async function measure({ stack, workers, settings }) {
  console.log(
    `The worker beside a bare BullMQ worker with the openai client; medians of ${settings.rounds} rounds. Redis appendfsync ` +
      `${options.appendfsync}, Postgres fsync ${options.fsync ? 'on' : 'off'}. Node ${process.version}, ${cpus().length} processors.\n`,
  );
  const measured = await measureBatches({ stack, workers, settings, onProgress: showProgress });
  showProgress('');
  console.log(`${batchLines(measured)}\n\nFrom the push to the request at the model:`);
  const waiting = workers.filter(({ concurrency }) => concurrency === Math.max(...settings.concurrencies));
  for (const worker of waiting) {
    const starts = await measureStarts({ stack, worker, samples: settings.starts, onProgress: showProgress });
    showProgress('');
    console.log(startLine(worker.subject, starts));
  }
  if (settings.memoryTasks > 0) await printMemory({ stack, workers, settings });
  console.log(`\n${await stack.billed()} lines on the bill.`);
}

/** At ten at a time, or the nearest to it: what a worker is left with is not what it holds while it works. */
async function printMemory({ stack, workers, settings }) {
  const ours = workers.filter(({ subject }) => subject === 'ours');
  const worker = ours.find(({ concurrency }) => concurrency === 10) ?? ours[0];
  const tasks = Math.ceil(settings.memoryTasks / 10);
  const samples = await measureMemory({ stack, worker, parts: 10, tasks, onProgress: showProgress });
  showProgress('');
  console.log(`\nMemory of our worker, ${worker.concurrency} at a time, after a full collection:`);
  console.log(memoryLines(samples, tasks));
}

async function profile({ stack, workers, settings }) {
  for (const worker of workers) {
    const batches = settings.batches.filter(
      ({ latency, concurrency }) => latency === 0 && concurrency === worker.concurrency,
    );
    for (const { tasks, withTool } of batches) {
      await worker.run({ tasks, withTool });
      await worker.child.ask({ probe: 'startProfile' });
      const { wallMs } = await worker.run({ tasks, withTool });
      const file = `.cache/queue-${worker.subject}-${worker.concurrency}${withTool ? '-tool' : ''}.cpuprofile`;
      await worker.child.ask({ probe: 'stopProfile', file });
      console.log(`${file}: ${tasks} tasks in ${wallMs.toFixed(0)} ms`);
    }
  }
}

try {
  await main();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
