// What an execution costs in a real n8n: five static AI Agent branches, our one node, and the floors under both.
// Run with --help for the options.
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { measureSubjects } from './measure.mjs';
import { INSPECTOR_OPTION, profileSubjects } from './profile.mjs';
import { barLineOf, barsOf, tableOf } from './report.mjs';
import { startEngine, startServers } from './stack.mjs';
import { SUBJECTS } from './subjects.mjs';

const ENGINES = ['default', 'legacy'];
const USAGE = `node n8n/run.mjs [options]
  --engine NAME    default or legacy (default: both, one after the other)
  --subjects a,b   which of ${Object.keys(SUBJECTS).join(', ')} (default: all)
  --rounds N       rounds that the medians are taken over (default 7)
  --runs N         executions in a batch (default 20, on the faster legacy engine 60)
  --warm-up N      executions before the first round (default 60, on the legacy engine 200: n8n's
                   own code gets faster for that long, and there it is most of the time)
  --in-flight N    executions at the same time in the second phase (default 10)
  --package FILE   a packed node to use in place of a new build
  --quick          2 rounds of 5 executions after 5: to see that it works, not for figures
  --json FILE      write the figures, those of each round included
  --profile DIR    measures nothing, but writes a .cpuprofile of n8n for each subject`;

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    subjects: { type: 'string' },
    rounds: { type: 'string' },
    runs: { type: 'string' },
    'warm-up': { type: 'string' },
    'in-flight': { type: 'string', default: '10' },
    package: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

function settingsOf(engine) {
  const usual = options.quick
    ? { rounds: 2, runs: 5, warmUp: 5 }
    : { rounds: 7, ...(engine === 'legacy' ? { runs: 60, warmUp: 200 } : { runs: 20, warmUp: 60 }) };
  const settings = {
    rounds: Number(options.rounds ?? usual.rounds),
    runs: Number(options.runs ?? usual.runs),
    warmUpRuns: Number(options['warm-up'] ?? usual.warmUp),
    inFlight: Number(options['in-flight']),
  };
  const wrong = Object.entries(settings).find(([, value]) => !Number.isInteger(value) || value < 1);
  if (wrong !== undefined) throw new Error(`${wrong[0]} must be a positive whole number`);
  return settings;
}

/** `wanted` as a list of names, all of them known. */
function choose(wanted, known) {
  const names = wanted?.split(',') ?? known;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`${unknown} is none of ${known.join(', ')}`);
  return names;
}

function showProgress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

/** Measures, or profiles, all subjects on one engine. */
async function runEngine(servers, engine, subjects) {
  const settings = settingsOf(engine);
  const nodeOptions = options.profile === undefined ? [] : [INSPECTOR_OPTION];
  const started = await startEngine(servers, { engine, subjects, nodeOptions, log: showProgress });
  const onProgress = (text) => showProgress(`${engine}: ${text}`);
  try {
    if (options.profile !== undefined) {
      const directory = path.join(options.profile, engine);
      mkdirSync(directory, { recursive: true });
      return await profileSubjects({ engine: started, servers, subjects, settings, onProgress, directory });
    }
    const measured = await measureSubjects({ engine: started, servers, subjects, settings, onProgress });
    showProgress('');
    const bars = barsOf(measured, engine);
    printEngine({ engine, settings, measured, bars });
    return { engine, settings, measured, bars };
  } finally {
    await started.stop();
  }
}

function printEngine({ engine, settings, measured, bars }) {
  const { rounds, runs, inFlight } = settings;
  console.log(
    `${engine.toUpperCase()} expression engine: medians of ${rounds} rounds of ${runs} executions, one at a time; ` +
      `then ${inFlight} in flight. Noise: half of the rounds lie within it.\n`,
  );
  console.log(tableOf(measured, settings));
  if (bars.length > 0) console.log(`\n${bars.map((bar) => `  ${barLineOf(bar)}`).join('\n')}`);
  console.log();
}

async function main() {
  if (options.help) return console.log(USAGE);
  const engines = choose(options.engine, ENGINES);
  const subjects = choose(options.subjects, Object.keys(SUBJECTS));
  console.log(
    'Webhook to last node in n8n, five tool steps, 10 tools, model latency 0; every execution is stored with its data ' +
      `(n8n's default); CPU is that of n8n's processes alone. Node ${process.version}, ${cpus().length} processors.\n`,
  );
  const servers = await startServers({ packageFile: options.package, log: showProgress });
  try {
    const results = [];
    for (const engine of engines) results.push(await runEngine(servers, engine, subjects));
    if (options.json !== undefined && options.profile === undefined) {
      const facts = { node: process.version, processors: cpus().length, engines: results };
      writeFileSync(options.json, `${JSON.stringify(facts, null, 2)}\n`);
    }
  } finally {
    showProgress('');
    await servers.stop();
  }
}

try {
  await main();
} catch (error) {
  console.error(error.stack);
  process.exitCode = 1;
}
