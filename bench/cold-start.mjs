// What a host pays: for loading the node file at start, and for the first run. Fresh processes, medians.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { runtimePath } from './loop/our-runtime.mjs';
import { startModelServer, startProcess } from './loop/start-process.mjs';
import { medianOf } from './loop/statistics.mjs';

const PROCESSES = 15;
const nodePath = fileURLToPath(new URL('../dist/nodes/UniversalAiAgent/UniversalAiAgent.node.js', import.meta.url));

const bars = [
  { what: 'require of the node file', key: 'nodeFile', wallMs: 20, rssMb: 5 },
  { what: 'then the first run', key: 'firstRun', wallMs: 150, rssMb: 60 },
  {
    what: 'in another process, after loading: the first run with 100 tools that have schemas',
    key: 'hundredTools',
    wallMs: 150,
    rssMb: 60,
  },
];

async function measureAll() {
  const server = await startModelServer();
  const samples = [];
  try {
    for (let index = 0; index < PROCESSES; index += 1) {
      const figures = {};
      for (const rows of [0, 100]) {
        const child = startProcess('./cold-start-process.mjs', [nodePath, server.origin, rows]);
        Object.assign(figures, await child.nextMessage());
        child.stop();
      }
      samples.push(figures);
    }
  } finally {
    server.stop();
  }
  return samples;
}

function verdictOf(value, bar, unit) {
  const text = `${value.toFixed(1)} ${unit} (bar <= ${bar} ${unit})`;
  return value <= bar ? `${text}: met` : `${text}: missed by ${(value - bar).toFixed(1)} ${unit}`;
}

const missing = [nodePath, runtimePath].find((path) => !existsSync(path));
if (missing !== undefined) {
  console.log('dist is missing or not whole (npm run build makes it)');
  process.exitCode = 1;
} else {
  const samples = await measureAll();
  console.log(`Medians of ${PROCESSES} fresh processes that have n8n-workflow loaded. Node ${process.version}`);
  for (const { what, key, wallMs, rssMb } of bars) {
    const wall = medianOf(samples.map((sample) => sample[key].wallMs));
    const rss = medianOf(samples.map((sample) => sample[key].rssMb));
    console.log(`${what}: ${verdictOf(wall, wallMs, 'ms')}; ${verdictOf(rss, rssMb, 'MB')}`);
  }
}
