import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { onProcessExit } from './process-exit.mjs';
import { root, run } from './run-steps.mjs';

const reporter = fileURLToPath(new URL('test-reporter.mjs', import.meta.url));

/** A double execution or a wrong bill shows here as an expectation that does not hold: it is red at the first failure. */
const MONEY = /^test\/(integration\/(ledger|billing)|hostile)\//;

const ENDED_EARLY = { file: 'jest', passed: 0, failures: [{ test: '', message: 'It ended before it had a result.' }] };

const ALONE = ['--runInBand', '--forceExit', '--runTestsByPath'];

/** With more than these the product is broken, or the machine is. */
const MOST_RETRIED = 12;

/**
 * Runs jest, and each file that failed once more: alone, in a fresh process, with one worker. What passes then is flaky and
 * named; it does not fail the run. The last line is `N passed, N failed`.
 *
 * @param {string[]} projects names in jest.config.js
 * @param {{ options?: string[], directory?: string }} more `options` of jest; the `directory` with its configuration
 * @returns {Promise<boolean>} true when nothing failed twice
 */
export async function runTests(projects, { options = [], directory = root } = {}) {
  const jest = (more) => runJest(['--selectProjects', ...projects, ...more], directory);
  process.stdout.write(`\n▶ ${projects.join(' and ')} tests\n`);
  const files = (await jest(options)) ?? [ENDED_EARLY];
  const failed = files.filter(({ failures }) => failures.length > 0);
  const retried = failed.length > MOST_RETRIED ? [] : failed.filter((one) => !isRedAtOnce(one));
  const flaky = [];
  for (const first of retried) {
    process.stdout.write(`\n▶ once more, alone: ${first.file}\n`);
    const [second = first] = (await jest(ALONE.concat(first.file))) ?? [];
    const failing = new Set(second.failures.map(({ test }) => test));
    flaky.push(...first.failures.filter(({ test }) => !failing.has(test)).map((one) => ({ file: first.file, ...one })));
    files[files.indexOf(first)] = second;
  }
  return report(files, flaky);
}

/** @param {import('./test-reporter.mjs').FileReport} report */
function isRedAtOnce({ file, failures }) {
  return MONEY.test(file) && failures.some(({ isExpectation }) => isExpectation);
}

/** @returns {Promise<import('./test-reporter.mjs').FileReport[] | undefined>} undefined when jest itself ended early */
async function runJest(options, directory) {
  const folder = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-tests-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const withdraw = onProcessExit(remove);
  const TEST_REPORT = path.join(folder, 'report.json');
  const args = ['--silent', `--reporters=${reporter}`, ...options];
  try {
    const step = { name: 'jest', program: 'jest/bin/jest.js', args, cwd: directory, env: { TEST_REPORT } };
    const isGreen = await run(step, 'inherit');
    if (!existsSync(TEST_REPORT)) return undefined;
    const { files, wasInterrupted } = JSON.parse(readFileSync(TEST_REPORT, 'utf8'));
    const isExplained = isGreen || files.some(({ failures }) => failures.length > 0);
    return wasInterrupted || !isExplained ? undefined : files;
  } finally {
    withdraw();
    remove();
  }
}

function report(files, flaky) {
  const failures = files.flatMap(({ file, failures: own }) => own.map((failure) => ({ file, ...failure })));
  for (const { file, test, message } of failures) process.stdout.write(`\n✘ ${nameOf(file, test)}\n${message}\n`);
  for (const { file, test, message } of flaky) {
    process.stdout.write(`flaky: ${nameOf(file, test)}: ${message.trim().split('\n', 1)[0]}\n`);
  }
  const passed = files.reduce((sum, file) => sum + file.passed, 0);
  process.stdout.write(`\n${passed} passed, ${failures.length} failed\n`);
  return failures.length === 0;
}

const nameOf = (file, test) => (test === '' ? file : `${file} › ${test}`);
