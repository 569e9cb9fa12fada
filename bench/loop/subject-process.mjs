// One subject in a process of its own, so that CPU and memory are its own. Does the batches that it is asked for.
import { ANSWER, createTools, TOOL_STEPS } from './scenario.mjs';

/** Runs before each measured batch: the others have had the processor and its caches meanwhile. */
const SETTLING_RUNS = 5;

const [name, origin] = process.argv.slice(2);
const { create } = await import(`./subjects/${name}.mjs`);
const prepared = new Map();

/** The subject with so many tools; its first run is one that the model server looks at closely. */
async function prepare(toolCount) {
  const known = prepared.get(toolCount);
  if (known !== undefined) return known;
  await runChecked(toolCount);
  const { tools, calls } = createTools(toolCount);
  const subject = await create({ baseUrl: `${origin}/v1`, apiKey: 'bench-key', tools });
  const entry = { subject, calls };
  prepared.set(toolCount, entry);
  return entry;
}

async function runChecked(toolCount) {
  const { tools, calls } = createTools(toolCount);
  const subject = await create({ baseUrl: `${origin}/checked/${toolCount}/v1`, apiKey: 'bench-key', tools });
  await runMany({ subject, calls }, { runs: 1, inFlight: 1 });
  await subject.close();
}

/** Asserts as it goes: a subject that does less, or something else, fails the benchmark. */
async function runMany({ subject, calls }, { runs, inFlight }) {
  const callsBefore = calls.correct;
  let started = 0;
  async function lane() {
    while (started < runs) {
      started += 1;
      const answer = await subject.run();
      if (answer !== ANSWER) throw new Error(`wrong answer: ${answer}`);
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane));
  const made = calls.correct - callsBefore;
  if (made !== runs * TOOL_STEPS)
    throw new Error(`${made} correct tool calls in ${runs} runs, not ${runs * TOOL_STEPS}`);
}

async function measure({ toolCount, runs, inFlight }) {
  const entry = await prepare(toolCount);
  await runMany(entry, { runs: Math.max(SETTLING_RUNS, inFlight), inFlight });
  const cpuBefore = process.cpuUsage();
  const wallBefore = performance.now();
  await runMany(entry, { runs, inFlight });
  const wallMs = performance.now() - wallBefore;
  const cpu = process.cpuUsage(cpuBefore);
  return {
    wallMs: wallMs / runs,
    cpuMs: (cpu.user + cpu.system) / 1000 / runs,
    runsPerSecond: (runs * 1000) / wallMs,
    rssMb: process.memoryUsage.rss() / 1024 / 1024,
  };
}

process.on('message', (batch) => {
  measure(batch).then(
    (figures) => process.send(figures),
    (error) => process.send({ error: error.stack }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send({ ready: true });
