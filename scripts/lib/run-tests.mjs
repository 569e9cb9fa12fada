import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { onProcessExit } from './process-exit.mjs';
import { root, run } from './run-steps.mjs';

/** @typedef {import('./test-reporter.mjs').FileReport} FileReport */
/** @typedef {{ files: FileReport[], flaky: (import('./test-reporter.mjs').Failure & { file: string })[] }} Outcome */

const reporter = fileURLToPath(new URL('test-reporter.mjs', import.meta.url));

/** A double execution or a wrong bill shows here as an expectation that does not hold: it is red at the first failure. */
const MONEY = /^test\/(integration\/(ledger|billing)|hostile)\//;

const ENDED_EARLY = {
  file: 'jest',
  passed: 0,
  failures: [{ test: '', message: 'It ended before it had a result.', isExpectation: false }],
};

const ALONE = ['--runInBand', '--forceExit', '--runTestsByPath'];

/** With more than these the product is broken, or the machine is. */
const MOST_RETRIED = 12;

/**
 * Runs jest, and each file that failed once more: alone, in a fresh process, with one worker. What passes then is flaky and
 * named; it does not fail the run.
 *
 * @param {string[]} projects names in jest.config.js
 * @param {object} [how]
 * @param {string[]} [how.options] more options of jest
 * @param {string} [how.directory] the folder with jest's configuration
 * @param {string} [how.journal] a file that keeps what has ended, so that a later call goes on where this one was stopped
 * @returns {Promise<Outcome>}
 */
export async function runTests(projects, { options = [], directory = root, journal = temporaryJournal() } = {}) {
  process.stdout.write(`\n▶ ${projects.join(' and ')} tests\n`);
  const skipped = readOutcome(journal)
    .files.filter(isGreen)
    .flatMap(({ file }) => ['--testPathIgnorePatterns', `/${file.replaceAll('.', '[.]')}$`]);
  const jest = (more) => runJest(['--selectProjects', ...projects, ...more], { directory, journal });
  const isWhole = await jest([...options, ...skipped, ...(skipped.length > 0 ? ['--passWithNoTests'] : [])]);
  const failed = readOutcome(journal).files.filter((file) => !isGreen(file));
  for (const { file } of failed.length > MOST_RETRIED ? [] : failed.filter((one) => !isRedAtOnce(one))) {
    process.stdout.write(`\n▶ once more, alone: ${file}\n`);
    await jest([...ALONE, file]);
  }
  const { files, flaky } = readOutcome(journal);
  return { files: isWhole ? files : [...files, ENDED_EARLY], flaky };
}

/**
 * Prints what failed, what was flaky, and as the last line `N passed, N failed`.
 *
 * @param {Outcome} outcome
 * @returns {boolean} true when nothing failed
 */
export function printOutcome({ files, flaky }) {
  const failures = files.flatMap(({ file, failures: own }) => own.map((failure) => ({ file, ...failure })));
  for (const failure of failures) process.stdout.write(`\n✘ ${nameOf(failure)}\n${failure.message}\n`);
  for (const failure of flaky) process.stdout.write(`flaky: ${nameOf(failure)}: ${firstLine(failure.message)}\n`);
  const passed = files.reduce((sum, file) => sum + file.passed, 0);
  process.stdout.write(`\n${passed} passed, ${failures.length} failed\n`);
  return failures.length === 0;
}

export const nameOf = ({ file, test }) => (test === '' ? file : `${file} › ${test}`);

export const firstLine = (text) => text.trim().split('\n', 1)[0];

const isGreen = ({ failures }) => failures.length === 0;

/** @param {FileReport} report */
const isRedAtOnce = ({ file, failures }) => MONEY.test(file) && failures.some(({ isExpectation }) => isExpectation);

/** @returns {Promise<boolean>} false when jest ended before it had run all files, or failed without a failing test */
async function runJest(options, { directory, journal }) {
  const before = readEntries(journal).length;
  const args = ['--silent', `--reporters=${reporter}`, ...options];
  const step = { name: 'jest', program: 'jest/bin/jest.js', args, cwd: directory, env: { TEST_REPORT: journal } };
  const isSuccess = await run(step, 'inherit');
  const entries = readEntries(journal).slice(before);
  return isSuccess || (entries.some(({ isComplete }) => isComplete) && !reportsIn(entries).every(isGreen));
}

/** @returns {Outcome} */
function readOutcome(journal) {
  const byFile = Object.values(Object.groupBy(reportsIn(readEntries(journal)), ({ file }) => file));
  const last = (reports) => reports.find(isRedAtOnce) ?? reports.at(-1);
  const flaky = byFile.flatMap((reports) => {
    const failing = new Set(last(reports).failures.map(({ test }) => test));
    const once = reports.flatMap(({ file, failures }) => failures.map((failure) => ({ file, ...failure })));
    return once.filter(({ test }, index) => !failing.has(test) && once.findIndex((one) => one.test === test) === index);
  });
  return { files: byFile.map(last), flaky };
}

/** @returns {FileReport[]} */
const reportsIn = (entries) => entries.filter(({ file }) => file !== undefined);

/** What the reporter kept, in order: reports of files, and a mark after each whole run. */
function readEntries(journal) {
  if (!existsSync(journal)) return [];
  const lines = readFileSync(journal, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}

function temporaryJournal() {
  const folder = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-tests-'));
  onProcessExit(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, 'journal.jsonl');
}
