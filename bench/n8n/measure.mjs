// Asks the subjects in turn, round after round, so that a slow minute of the machine is a slow minute for all of them.
import { medianOf, spreadOf } from '../loop/statistics.mjs';
import { createRunner } from './executions.mjs';
import { TIERS } from './subjects.mjs';

/** Executions before each measured batch: the others have had the processor and its caches meanwhile. */
const SETTLING_RUNS = 2;

/** Medians over the rounds: { [subject]: { one, many } }. */
export async function measureSubjects({ engine, servers, subjects, settings, onProgress }) {
  const runner = await createRunner(engine, servers);
  try {
    await warmUp(runner, { subjects, settings, onProgress });
    const samples = Object.fromEntries(subjects.map((subject) => [subject, { one: [], many: [] }]));
    for (let round = 0; round < settings.rounds; round += 1) {
      onProgress(`round ${round + 1} of ${settings.rounds}`);
      await measureRound({ runner, subjects: rotated(subjects, round), settings, samples });
    }
    await runner.assertBilled();
    return Object.fromEntries(
      Object.entries(samples).map(([subject, { one, many }]) => [
        subject,
        { one: summarise(one), many: summarise(many) },
      ]),
    );
  } finally {
    await runner.close();
  }
}

async function measureRound({ runner, subjects, settings, samples }) {
  for (const [phase, batch] of Object.entries(batchesOf(settings))) {
    for (const subject of subjects) {
      await runner.runBatch(subject, { ...batch, runs: Math.max(SETTLING_RUNS, batch.inFlight) });
      samples[subject][phase].push(await runner.runBatch(subject, batch));
    }
  }
}

const batchesOf = ({ runs, inFlight }) => ({
  one: { runs, inFlight: 1 },
  many: { runs: Math.max(runs, inFlight * 3), inFlight },
});

/** Every branch once, since all of them must work, then the measured one until its code is hot. */
async function warmUp(runner, { subjects, settings, onProgress }) {
  for (const subject of subjects) {
    onProgress(`warming up ${subject}`);
    for (const tier of TIERS) await runner.runBatch(subject, { runs: 1, inFlight: 1, tier });
    await runner.runBatch(subject, { runs: settings.warmUpRuns, inFlight: 1 });
    await runner.runBatch(subject, { runs: settings.inFlight * 2, inFlight: settings.inFlight });
  }
}

/** Nobody always comes after the same neighbour at the same time. */
const rotated = (list, by) => list.map((_, index) => list[(index + by) % list.length]);

function summarise(samples) {
  const wallMs = samples.map((sample) => medianOf(sample.wallMs));
  const cpuMs = samples.map((sample) => sample.cpuMs);
  const perSecond = samples.map((sample) => sample.perSecond);
  return {
    wallMs: medianOf(wallMs),
    wallSpread: spreadOf(wallMs),
    bestWallMs: Math.min(...wallMs),
    ...(cpuMs[0] !== undefined && { cpuMs: medianOf(cpuMs), cpuSpread: spreadOf(cpuMs) }),
    perSecond: medianOf(perSecond),
    perSecondSpread: spreadOf(perSecond),
    rounds: { wallMs, cpuMs, perSecond },
  };
}
