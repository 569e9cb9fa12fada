// One cold start of a node file, then a run with so many tools of the catalogue, or none. What the host has loaded anyway is loaded before the clock starts.
import { createRequire } from 'node:module';

import { createOurSubject, requireRuntime, toRuntimeTools } from './our-runtime.mjs';
import { ANSWER, createTools } from './scenario.mjs';

const [nodePath, origin, rows] = process.argv.slice(2);
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

/** A tool of the catalogue whose schema is about a kilobyte, as those of real tools are. */
function aRow(_value, index) {
  const property = { type: 'string', minLength: 1, maxLength: 200, description: 'What to look for, in plain words' };
  const properties = Object.fromEntries(Array.from({ length: 8 }, (_each, key) => [`field_${key}`, property]));
  return {
    ...{ code: `catalogue_${index}`, description: 'Finds something', endpoint: `${origin}/tool`, authHeader: null },
    ...{ timeoutMs: null, transport: 'hook', mcpTool: null, customConfig: {}, transportConfig: {} },
    parametersSchema: { type: 'object', properties, required: ['field_0'] },
  };
}

async function firstRun() {
  const options = { baseUrl: `${origin}/v1`, apiKey: 'bench-key', runtimeTools };
  const catalogue = Array.from({ length: Number(rows) }, aRow);
  const subject = createOurSubject(requireRuntime(), { ...options, catalogue });
  const answer = await subject.run();
  if (answer !== ANSWER || calls.correct !== 5) throw new Error(`wrong first run: ${calls.correct} calls, ${answer}`);
}

process.on('disconnect', () => process.exit(0));
try {
  const nodeFile = await measure(async () => require(nodePath));
  if (rows === 'none') {
    process.send({ nodeFile });
  } else {
    // With tools it is the run that is looked at, not the loading.
    if (Number(rows) > 0) requireRuntime();
    const run = await measure(firstRun);
    process.send(Number(rows) === 0 ? { nodeFile, firstRun: run } : { hundredTools: run });
  }
} catch (error) {
  process.send({ error: error.stack });
}
