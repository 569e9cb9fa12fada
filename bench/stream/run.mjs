// What a streamed answer costs in a real n8n beside the same answer as a whole, and how long a word takes from the model
// to the client. Run with --help for the options.
import { parseArgs } from 'node:util';

import { Pool } from 'undici';

import { medianOf, quantileOf } from '../loop/statistics.mjs';
import { startEngine, startServers } from '../n8n/stack.mjs';
import { bodyOf, TIER } from '../n8n/subjects.mjs';
import { WORD_MS, WORDS } from './scenario.mjs';

const USAGE = `node stream/run.mjs [options]
  --rounds N     rounds that the medians are taken over (default 7)
  --runs N       executions in a batch (default 30)
  --in-flight N  executions at the same time (default 10)
  --warm-up N    executions of each before the first round (default 60)
  --package FILE a packed node to use in place of a new build`;

const SUBJECTS = ['one-node', 'one-node-streamed'];
const DELAY_BAR_MS = 15;
const CPU_BAR = 1.4;
/** n8n stores an execution after it has answered. */
const AFTERWORK_MS = 300;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    runs: { type: 'string', default: '30' },
    'in-flight': { type: 'string', default: '10' },
    'warm-up': { type: 'string', default: '60' },
    package: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

function numberOf(name) {
  const value = Number(options[name]);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${name} must be a positive whole number`);
  return value;
}

/** One execution; resolves with its name and when each word came, if it came in pieces. */
async function execute({ pool, subject, name }) {
  const body = bodyOf(TIER);
  const response = await pool.request({
    method: 'POST',
    path: `/webhook/${subject}`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, message: `${body.message} This is run ${name} .` }),
  });
  if (subject === 'one-node') {
    const text = await response.body.text();
    if (!text.includes(WORDS.at(-1))) throw new Error(`wrong answer: ${text.slice(0, 500)}`);
    return { name, cameAt: [] };
  }
  return { name, cameAt: await readWords(response.body) };
}

/** When the client had the end of each word. */
async function readWords(body) {
  const ends = [];
  for (const word of WORDS) ends.push((ends.at(-1) ?? 0) + word.length);
  const cameAt = [];
  let [rest, length] = ['', 0];
  for await (const bytes of body) {
    const at = performance.timeOrigin + performance.now();
    const lines = (rest + bytes.toString('utf8')).split('\n');
    rest = lines.pop();
    for (const line of lines.filter((one) => one.trim() !== '')) {
      const { type, content } = JSON.parse(line);
      if (type === 'item') length += content.length;
    }
    while (cameAt.length < WORDS.length && ends[cameAt.length] <= length) cameAt.push(at);
  }
  if (cameAt.length !== WORDS.length || length !== ends.at(-1)) throw new Error(`${length} characters were streamed`);
  return cameAt;
}

/** Runs of a batch, with the processor time of one. */
async function runBatch({ engine, pool, subject, runs, label }) {
  const before = engine.processorMs?.();
  const done = [];
  let started = 0;
  const lane = async () => {
    while (started < runs) done.push(await execute({ pool, subject, name: `${label}-${started++}` }));
  };
  await Promise.all(Array.from({ length: numberOf('in-flight') }, lane));
  await new Promise((resolve) => setTimeout(resolve, AFTERWORK_MS));
  return { done, cpuMs: before === undefined ? NaN : (engine.processorMs() - before) / runs };
}

async function measure(engine, servers) {
  const pool = new Pool(engine.baseUrl, { connections: 64, headersTimeout: 0, bodyTimeout: 0 });
  try {
    for (const subject of SUBJECTS) {
      await runBatch({ engine, pool, subject, runs: numberOf('warm-up'), label: `warm-${subject}` });
    }
    await servers.model.ask({});
    const cpu = Object.fromEntries(SUBJECTS.map((subject) => [subject, []]));
    const delays = [];
    const turns = Array.from({ length: numberOf('rounds') }, (_, round) =>
      round % 2 === 0 ? SUBJECTS : [...SUBJECTS].reverse(),
    );
    for (const [turn, subject] of turns.flat().entries()) {
      const batch = { engine, pool, subject, runs: numberOf('runs'), label: `${turn}-${subject}` };
      const { done, cpuMs } = await runBatch(batch);
      cpu[subject].push(cpuMs);
      const { sentAt } = await servers.model.ask({});
      delays.push(...done.flatMap(({ name, cameAt }) => delaysOf(cameAt, sentAt[name])));
    }
    return { cpu, delays };
  } finally {
    await pool.close();
  }
}

/** A word is complete with the piece after it, which begins with a space: until then it may grow into a secret. */
function delaysOf(cameAt, sentAt) {
  return cameAt.slice(0, -1).map((at, index) => at - sentAt[index + 1]);
}

function report({ cpu, delays }) {
  const [whole, streamed] = SUBJECTS.map((subject) => medianOf(cpu[subject]));
  const ratios = cpu['one-node-streamed'].map((ms, round) => ms / cpu['one-node'][round]);
  const [middle, most, worst] = [0.5, 0.95, 1].map((part) => quantileOf(delays, part));
  const verdict = (isMet) => (isMet ? 'met' : 'MISSED');
  console.log(`CPU of n8n for one execution: ${whole.toFixed(1)} ms as a whole, ${streamed.toFixed(1)} ms streamed`);
  const ratio = medianOf(ratios);
  console.log(`  streamed, to the whole: ${ratio.toFixed(2)}x of at most ${CPU_BAR}x: ${verdict(ratio <= CPU_BAR)}`);
  console.log(
    `  a word, from the model's write of the piece that completes it to the client: ${middle.toFixed(1)} ms (median), ${most.toFixed(1)} ms (95 of 100), ` +
      `${worst.toFixed(1)} ms (worst of ${delays.length}); 95 of 100 within ${DELAY_BAR_MS} ms: ${verdict(most <= DELAY_BAR_MS)}`,
  );
}

async function main() {
  if (options.help) return console.log(USAGE);
  console.log(
    `Webhook to last node in n8n, one tool call, then ${WORDS.length} words, one every ${WORD_MS} ms; ` +
      `${numberOf('in-flight')} in flight; medians of ${numberOf('rounds')} rounds of ${numberOf('runs')} executions.\n`,
  );
  const log = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`);
  const modelServer = new URL('model-server.mjs', import.meta.url);
  const servers = await startServers({ packageFile: options.package, modelServer, log });
  try {
    const engine = await startEngine(servers, { engine: 'default', subjects: SUBJECTS, log });
    try {
      report(await measure(engine, servers));
    } finally {
      await engine.stop();
    }
  } finally {
    await servers.stop();
  }
}

try {
  await main();
} catch (error) {
  console.error(error.stack);
  process.exitCode = 1;
}
