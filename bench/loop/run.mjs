// What a run of five tool steps costs in our runtime and in others: time, CPU and memory outside the model.
// Run with --help for the options.
import { existsSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';

import { FEW_TOOLS, measureSubjects } from './measure.mjs';
import { runtimePath } from './our-runtime.mjs';
import { barLineOf, barsOf, quietTableOf, tableOf, warningsOf } from './report.mjs';

const SUBJECTS = ['undici-loop', 'openai-loop', 'ai-sdk', 'openai-agents', 'ours'];
const USAGE = `node loop/run.mjs [options]
  --subjects a,b   which of ${SUBJECTS.join(', ')} (default: all)
  --rounds N       rounds that the medians are taken over (default 15)
  --runs N         runs in a batch (default 100)
  --warm-up N      runs before the first round of a phase (default 300)
  --in-flight N    runs at the same time in the second phase (default 50)
  --tools N        the larger number of tools in the third phase (default 100)
  --quick          3 rounds of 30 runs after 60: to see that it works, not for figures
  --json FILE      write the figures, samples included`;

const { values: options } = parseArgs({
  options: {
    subjects: { type: 'string' },
    rounds: { type: 'string' },
    runs: { type: 'string' },
    'warm-up': { type: 'string' },
    'in-flight': { type: 'string', default: '50' },
    tools: { type: 'string', default: '100' },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

function readSettings() {
  const usual = options.quick ? { rounds: 3, runs: 30, warmUp: 60 } : { rounds: 15, runs: 100, warmUp: 300 };
  const settings = {
    rounds: Number(options.rounds ?? usual.rounds),
    runs: Number(options.runs ?? usual.runs),
    warmUpRuns: Number(options['warm-up'] ?? usual.warmUp),
    inFlight: Number(options['in-flight']),
    manyTools: Number(options.tools),
  };
  const wrong = Object.entries(settings).find(([, value]) => !Number.isInteger(value) || value < 1);
  if (wrong !== undefined) throw new Error(`${wrong[0]} must be a positive whole number`);
  return settings;
}

function chooseSubjects() {
  const wanted = options.subjects?.split(',') ?? SUBJECTS;
  const unknown = wanted.find((name) => !SUBJECTS.includes(name));
  if (unknown !== undefined) throw new Error(`no subject is called ${unknown}`);
  if (!wanted.includes('ours') || existsSync(runtimePath)) return wanted;
  console.log('ours: skipped, dist/runtime/index.js is missing (npm run build makes it)');
  return wanted.filter((name) => name !== 'ours');
}

function showProgress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

async function main() {
  if (options.help) return console.log(USAGE);
  const settings = readSettings();
  const names = chooseSubjects();
  const measured = await measureSubjects(names, settings, showProgress);
  showProgress('');
  const bars = barsOf(measured);
  console.log(
    `Five tool steps, ${FEW_TOOLS} tools, model latency 0; medians of ${settings.rounds} rounds of ${settings.runs} runs; ` +
      `then ${settings.inFlight} in flight; 'more tools' is the growth from ${FEW_TOOLS} to ${settings.manyTools}. ` +
      `Node ${process.version}, ${cpus().length} processors.\n`,
  );
  console.log(`${tableOf(measured)}\n\n${quietTableOf(measured)}`);
  for (const warning of warningsOf(measured)) console.log(`\n! ${warning}`);
  if (bars.length > 0) console.log(`\nours\n${bars.map((bar) => `  ${barLineOf(bar)}`).join('\n')}`);
  if (options.json !== undefined) {
    const facts = { node: process.version, processors: cpus().length, settings, measured, bars };
    writeFileSync(options.json, `${JSON.stringify(facts, null, 2)}\n`);
  }
}

try {
  await main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
