// Batches of tasks, in turn for both workers, round after round, so that a slow minute of the machine is a slow minute for
// both of them.
import { setTimeout as wait } from 'node:timers/promises';

import { medianOf, quantileOf, spreadOf } from '../loop/statistics.mjs';
import { startBareWorker } from './bare-worker.mjs';
import { startOurWorker } from './our-worker.mjs';

const START = { ours: startOurWorker, bare: startBareWorker };
export const SUBJECTS = Object.keys(START);

/** One process a subject and concurrency, each on a database of Redis of its own: those that wait cost nothing. */
export async function startWorkers({ stack, concurrencies }) {
  const workers = [];
  for (const concurrency of concurrencies) {
    for (const subject of SUBJECTS) {
      const database = workers.length + 1;
      workers.push({ subject, concurrency, ...(await START[subject]({ stack, database, concurrency })) });
    }
  }
  return workers;
}

/**
 * Medians of every batch: `{...batch, ours: {perSecond, cpuMs, spread}, bare, ratio}`.
 * @param {{ batches: { latency: number, concurrency: number, withTool: boolean, tasks: number }[], rounds: number }} settings
 */
export async function measureBatches({ stack, workers, settings, onProgress }) {
  const samples = new Map(settings.batches.map((batch) => [batch, { ours: [], bare: [] }]));
  for (const batch of settings.batches) {
    onProgress(`${labelOf(batch)}: warming up`);
    for (const worker of workersFor(workers, batch)) await measureBatch({ stack, worker, batch });
  }
  for (let round = 1; round <= settings.rounds; round += 1) {
    for (const [batch, taken] of samples) {
      onProgress(`round ${round} of ${settings.rounds}: ${labelOf(batch)}`);
      const both = workersFor(workers, batch);
      // In turn who is first, so that what the one leaves behind falls on both.
      for (const worker of round % 2 === 0 ? both : both.toReversed()) {
        taken[worker.subject].push(await measureBatch({ stack, worker, batch }));
      }
    }
  }
  return [...samples].map(([batch, taken]) => ({
    ...batch,
    ...Object.fromEntries(SUBJECTS.map((subject) => [subject, summarise(taken[subject])])),
    ratio: medianOf(taken.ours.map(({ perSecond }, round) => perSecond / taken.bare[round].perSecond)),
  }));
}

const labelOf = ({ latency, concurrency, withTool }) =>
  `model ${latency} ms, ${concurrency} at a time${withTool ? ', one tool step' : ''}`;

const workersFor = (workers, { concurrency }) => workers.filter((worker) => worker.concurrency === concurrency);

async function measureBatch({ stack, worker, batch }) {
  const { tasks, withTool } = batch;
  await stack.model.setLatency(batch.latency);
  const modelBefore = await stack.model.counts();
  const before = await worker.child.ask({ probe: 'usage' });
  const { wallMs } = await worker.run({ tasks, withTool });
  const after = await worker.child.ask({ probe: 'usage' });
  const counted = await stack.model.counts();
  const wanted = withTool ? { modelCalls: 2 * tasks, toolCalls: tasks } : { modelCalls: tasks, toolCalls: 0 };
  if (counted.modelCalls !== wanted.modelCalls || counted.toolCalls !== wanted.toolCalls) {
    throw new Error(
      `${worker.subject}: ${counted.modelCalls} model and ${counted.toolCalls} tool calls, ${tasks} tasks`,
    );
  }
  return {
    perSecond: (tasks * 1000) / wallMs,
    cpuMs: (cpuOf(after) - cpuOf(before)) / tasks,
    modelBusy: (cpuOf(counted) - cpuOf(modelBefore)) / wallMs,
  };
}

const cpuOf = ({ cpu }) => (cpu.user + cpu.system) / 1000;

function summarise(samples) {
  const valuesOf = (key) => samples.map((sample) => sample[key]);
  return {
    perSecond: medianOf(valuesOf('perSecond')),
    cpuMs: medianOf(valuesOf('cpuMs')),
    modelBusy: medianOf(valuesOf('modelBusy')),
    spread: spreadOf(valuesOf('perSecond')),
  };
}

/** Milliseconds from the push to the request at the model server, one task at a time on a worker that waits. */
export async function measureStarts({ stack, worker, samples, onProgress }) {
  await stack.model.setLatency(0);
  await stack.model.counts();
  for (let index = 0; index < samples; index += 1) {
    if (index % 20 === 0) onProgress(`from push to start, ${worker.subject}: ${index} of ${samples}`);
    await worker.run({ tasks: 1, withTool: false });
    // Not in step with anything that the worker may do by the clock.
    await wait(5 + Math.random() * 40);
  }
  const { starts } = await stack.model.counts();
  return { median: medianOf(starts), p95: quantileOf(starts, 0.95), most: Math.max(...starts) };
}

/** What the process holds after each part of the tasks: `[{ rss, heapUsed, external }]` in bytes, after a full collection. */
export async function measureMemory({ stack, worker, parts, tasks, onProgress }) {
  await stack.model.setLatency(0);
  const samples = [];
  for (let part = 1; part <= parts; part += 1) {
    onProgress(`memory, ${worker.subject}: ${part * tasks} tasks of ${parts * tasks}`);
    await worker.run({ tasks, withTool: false });
    samples.push(await worker.child.ask({ probe: 'memory' }));
  }
  return samples;
}
