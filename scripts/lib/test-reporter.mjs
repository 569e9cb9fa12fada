// Jest's reporter here: one line a file, and each file's report as a line of JSON in the file that TEST_REPORT names. Its last
// line says that jest ran all files.
import { appendFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {object} Failure
 * @property {string} test its full name; of a file that could not be run the empty text
 * @property {string} message with the place in the source
 * @property {boolean} isExpectation an `expect` that did not hold; otherwise a time-out, or an error that was thrown
 * @typedef {{ file: string, passed: number, failures: Failure[] }} FileReport
 */

export default class TestReporter {
  #root;

  constructor({ rootDir }) {
    this.#root = rootDir;
  }

  onTestResult({ path: place }, result) {
    const report = {
      file: path.relative(this.#root, place),
      passed: result.numPassingTests,
      failures: failuresOf(result),
    };
    keep(report);
    const failed = report.failures.length;
    const seconds = ((result.perfStats.end - result.perfStats.start) / 1000).toFixed(1);
    process.stdout.write(
      `${failed === 0 ? '✔' : '✘'} ${report.file} (${seconds} s${failed === 0 ? '' : `, ${failed} failed`})\n`,
    );
  }

  onRunComplete(_contexts, { wasInterrupted }) {
    if (!wasInterrupted) keep({ isComplete: true });
  }
}

function keep(entry) {
  if (process.env.TEST_REPORT) appendFileSync(process.env.TEST_REPORT, `${JSON.stringify(entry)}\n`);
}

/** @returns {Failure[]} */
function failuresOf({ testResults, testExecError, failureMessage }) {
  const failures = testResults
    .filter(({ status }) => status === 'failed')
    .map(({ fullName, failureMessages, failureDetails }) => ({
      test: fullName,
      message: failureMessages.join('\n'),
      isExpectation: failureDetails.some((detail) => detail?.matcherResult !== undefined),
    }));
  if (!testExecError) return failures;
  return [...failures, { test: '', message: failureMessage ?? String(testExecError), isExpectation: false }];
}
