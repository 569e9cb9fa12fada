// Asks the subjects in turn, round after round, so that a slow minute of the machine is a slow minute for all of them.
import { startModelServer, startProcess } from './start-process.mjs';
import { medianOf, spreadOf } from './statistics.mjs';

export const FEW_TOOLS = 10;

/** What is asked of each subject, in groups; the batches of one group alternate within a round. */
function groupsOf({ runs, inFlight, manyTools }) {
  const half = Math.ceil(runs / 2);
  return [
    { one: { toolCount: FEW_TOOLS, inFlight: 1, runs } },
    { many: { toolCount: FEW_TOOLS, inFlight, runs: Math.max(runs, inFlight * 4) } },
    {
      fewTools: { toolCount: FEW_TOOLS, inFlight: 1, runs: half },
      manyTools: { toolCount: manyTools, inFlight: 1, runs: half },
    },
  ];
}

/** Medians of every subject and phase: { [subject]: { one, many, fewTools, manyTools } }. */
export async function measureSubjects(names, settings, onProgress) {
  const server = await startModelServer();
  const subjects = names.map((name) => ({ name, child: startProcess('./subject-process.mjs', [name, server.origin]) }));
  try {
    await Promise.all(subjects.map(({ child }) => child.nextMessage()));
    const measured = Object.fromEntries(names.map((name) => [name, {}]));
    for (const group of groupsOf(settings)) {
      await measureGroup({ group, subjects, server, settings, measured, onProgress });
    }
    return measured;
  } finally {
    for (const { child } of subjects) child.stop();
    server.stop();
  }
}

async function measureGroup({ group, subjects, server, settings, measured, onProgress }) {
  const batches = Object.entries(group);
  const samples = new Map();
  onProgress(`${batches.map(([phase]) => phase).join(', ')}: warming up`);
  for (const { child } of subjects) {
    for (const [, batch] of batches) await child.ask({ ...batch, runs: settings.warmUpRuns });
  }
  for (let round = 1; round <= settings.rounds; round += 1) {
    onProgress(`${batches.map(([phase]) => phase).join(', ')}: round ${round} of ${settings.rounds}`);
    for (const { name, child } of subjects) {
      for (const [phase, batch] of batches) {
        const key = `${name} ${phase}`;
        samples.set(key, [...(samples.get(key) ?? []), await measureBatch(child, batch, server)]);
      }
    }
  }
  for (const { name } of subjects) {
    for (const [phase] of batches) measured[name][phase] = summarise(samples.get(`${name} ${phase}`));
  }
}

/** The server's share of a processor says whether it was the one that had no more to give. */
async function measureBatch(child, batch, server) {
  const cpuBefore = await server.cpuMs();
  const startedAt = performance.now();
  const figures = await child.ask(batch);
  const elapsedMs = performance.now() - startedAt;
  return { ...figures, serverBusy: ((await server.cpuMs()) - cpuBefore) / elapsedMs };
}

function summarise(samples) {
  const valuesOf = (key) => samples.map((sample) => sample[key]);
  return {
    wallMs: medianOf(valuesOf('wallMs')),
    cpuMs: medianOf(valuesOf('cpuMs')),
    runsPerSecond: medianOf(valuesOf('runsPerSecond')),
    rssMb: medianOf(valuesOf('rssMb')),
    serverBusy: medianOf(valuesOf('serverBusy')),
    bestWallMs: Math.min(...valuesOf('wallMs')),
    bestCpuMs: Math.min(...valuesOf('cpuMs')),
    wallSpread: spreadOf(valuesOf('wallMs')),
    cpuSpread: spreadOf(valuesOf('cpuMs')),
    samples,
  };
}
