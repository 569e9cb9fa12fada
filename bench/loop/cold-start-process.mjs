// One cold start. What the host has loaded anyway is loaded before the clock starts.
import { createRequire } from 'node:module';

import { createOurSubject, requireRuntime, toRuntimeTools } from './our-runtime.mjs';
import { ANSWER, createTools } from './scenario.mjs';

const [nodePath, origin] = process.argv.slice(2);
const require = createRequire(import.meta.url);
require('n8n-workflow');
const { tools, calls } = createTools(10);
// The validators of these tools are the benchmark's own, so they are not counted as ours.
const runtimeTools = toRuntimeTools(tools);

async function measure(work) {
  const rssBefore = process.memoryUsage.rss();
  const startedAt = performance.now();
  await work();
  const wallMs = performance.now() - startedAt;
  return { wallMs, rssMb: (process.memoryUsage.rss() - rssBefore) / 1024 / 1024 };
}

async function firstRun() {
  const subject = createOurSubject(requireRuntime(), { baseUrl: `${origin}/v1`, apiKey: 'bench-key', runtimeTools });
  const answer = await subject.run();
  if (answer !== ANSWER || calls.correct !== 5) throw new Error(`wrong first run: ${calls.correct} calls, ${answer}`);
}

process.on('disconnect', () => process.exit(0));
try {
  process.send({ nodeFile: await measure(async () => require(nodePath)), firstRun: await measure(firstRun) });
} catch (error) {
  process.send({ error: error.stack });
}
