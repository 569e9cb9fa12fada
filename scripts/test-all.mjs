// Everything that the gate leaves out. Goes on where it was stopped, as long as the sources are the same.
//
//   npm run test:all                   runs and reports; ends with 1 when something failed twice
//   npm run test:all -- --times 2      repeats it
//   npm run test:all -- --fresh        forgets what has passed before
//   npm run test:all -- --background   returns at once
//   npm run test:all -- --status       reports on the run in the background
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, loadavg } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { BUILD, CONFORMANCE, PAUSES } from './lib/checks.mjs';
import { ensureMcpPackages } from './lib/mcp-packages.mjs';
import { root, run, runSteps } from './lib/run-steps.mjs';
import { firstLine, nameOf, printOutcome, runTests } from './lib/run-tests.mjs';
import { CHROMIUM, REDIS, requirePrograms } from './lib/system-programs.mjs';

const SUITES = [
  { project: 'long', options: ['--maxWorkers=2'] },
  { project: 'e2e', options: ['--runInBand', '--forceExit'] },
];

const { values } = parseArgs({
  options: {
    times: { type: 'string', default: '1' },
    fresh: { type: 'boolean', default: false },
    background: { type: 'boolean', default: false },
    status: { type: 'boolean', default: false },
  },
});
const folder = path.join(root, '.cache', 'test-all');
const [logFile, pidFile] = ['log', 'pid'].map((name) => path.join(folder, name));
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
const times = Number(values.times);
const log = (line) => process.stdout.write(`${line}\n`);

if (!Number.isSafeInteger(times) || times < 1) {
  process.stderr.write('--times is not a whole number from 1 on.\n');
  process.exit(2);
}
if (values.fresh) rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
if (values.status) log(statusOf());
else if (values.background) startInBackground();
else process.exit((await runAll()) ? 0 : 1);

function statusOf() {
  if (!existsSync(logFile)) return 'It was never started in the background.';
  const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n');
  const failed = lines.filter((line) => line.startsWith('✘') || line.startsWith('flaky: '));
  return [`${isRunning() ? 'running' : 'ended'}: ${lines.at(-1)}`, ...failed, `The log is ${logFile}.`].join('\n');
}

function isRunning() {
  try {
    return process.kill(Number(readFileSync(pidFile, 'utf8')), 0);
  } catch {
    return false;
  }
}

function startInBackground() {
  if (isRunning()) return log('It runs already: see --status.');
  const output = openSync(logFile, 'w');
  const args = [fileURLToPath(import.meta.url), '--times', values.times];
  const child = spawn(process.execPath, args, { cwd: root, detached: true, stdio: ['ignore', output, output] });
  writeFileSync(pidFile, String(child.pid));
  child.unref();
  log('Started: see --status.');
}

/** @returns {Promise<boolean>} true when nothing failed twice */
async function runAll() {
  await requirePrograms([CHROMIUM, REDIS], { log });
  await ensureMcpPackages({ log });
  await runSteps([BUILD]);
  const sources = digestOfSources();
  const all = { files: [], flaky: [] };
  for (let time = 1; time <= times; time++) {
    const journal = (name) => path.join(folder, `${sources.slice(0, 12)}-${time}-${name}.jsonl`);
    for (const step of [CONFORMANCE, PAUSES]) all.files.push(await runOnce(step, journal(step.name)));
    for (const { project, options } of SUITES) {
      const { files, flaky } = await runTests([project], { options, journal: journal(project) });
      all.files.push(...files);
      all.flaky.push(...flaky);
    }
  }
  keepFlaky(all.flaky);
  return printOutcome(all);
}

/** The commit, what was changed since, and files that are not added yet. */
function digestOfSources() {
  const added = git('ls-files', '--others', '--exclude-standard', '-z').split('\0').filter(Boolean);
  const contents = added.length === 0 ? '' : git('hash-object', '--', ...added);
  const parts = [git('rev-parse', 'HEAD'), git('diff', 'HEAD'), added.join(), contents];
  return createHash('sha256').update(parts.join('\n')).digest('hex');
}

/** Runs a step that jest does not, unless it has passed before. */
async function runOnce(step, journal) {
  const isGreen = existsSync(journal) || (await run(step, 'inherit')) || (await run(step, 'inherit'));
  if (isGreen) writeFileSync(journal, '');
  const failures = isGreen ? [] : [{ test: '', message: 'It failed twice: see above.', isExpectation: false }];
  return { file: step.name, passed: isGreen ? 1 : 0, failures };
}

/** What was flaky, with time, commit and load, in the user's cache folder: it outlives this clone. */
function keepFlaky(flaky) {
  const cache = path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'universal-ai-agent');
  mkdirSync(cache, { recursive: true });
  const facts = [new Date().toISOString(), git('rev-parse', '--short', 'HEAD').trim(), loadavg()[0].toFixed(1)];
  const rows = flaky.map((failure) => [...facts, nameOf(failure), firstLine(failure.message)].join('\t'));
  appendFileSync(path.join(cache, 'flaky.tsv'), rows.map((row) => `${row}\n`).join(''));
}
