// What a host pays: for loading each node file at start, and for the first run. Fresh processes, medians.
import { existsSync, globSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { runtimePath } from './loop/our-runtime.mjs';
import { startModelServer, startProcess } from './loop/start-process.mjs';
import { medianOf } from './loop/statistics.mjs';

const PROCESSES = 15;
const AGENT = 'UniversalAiAgent';
const dist = fileURLToPath(new URL('../dist', import.meta.url));
const nodePaths = new Map(
  globSync(path.join(dist, 'nodes/*/*.node.js')).map((file) => [path.basename(file, '.node.js'), file]),
);

/** The agent's file is loaded for runs with no and with many tools, the others only to be loaded. */
const starts = [...nodePaths.keys()].flatMap((name) =>
  (name === AGENT ? [0, 100] : ['none']).map((rows) => [name, rows]),
);

const bars = [
  ...[...nodePaths.keys()].map((key) => ({ what: `require of ${key}`, key, wallMs: 20, rssMb: 5 })),
  { what: `after ${AGENT}: the first run`, key: 'firstRun', wallMs: 150, rssMb: 60 },
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
      for (const [name, rows] of starts) {
        const child = startProcess('./cold-start-process.mjs', [nodePaths.get(name), server.origin, rows]);
        const { nodeFile = figures[name], ...runs } = await child.nextMessage();
        Object.assign(figures, { [name]: nodeFile, ...runs });
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

if (!nodePaths.has(AGENT) || !existsSync(runtimePath)) {
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
