// Jest's reporter here: one line a file, and everything that failed as JSON in the file that TEST_REPORT names.
import { writeFileSync } from 'node:fs';
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

  onTestResult({ path: file }, result) {
    const { failures } = this.#read(file, result);
    const { start, end } = result.perfStats;
    const counts = failures.length === 0 ? '' : `, ${failures.length} failed`;
    const mark = failures.length === 0 ? '✔' : '✘';
    process.stdout.write(
      `${mark} ${path.relative(this.#root, file)} (${((end - start) / 1000).toFixed(1)} s${counts})\n`,
    );
  }

  onRunComplete(_contexts, { testResults, wasInterrupted }) {
    const files = testResults.map((result) => this.#read(result.testFilePath, result));
    if (process.env.TEST_REPORT) writeFileSync(process.env.TEST_REPORT, JSON.stringify({ files, wasInterrupted }));
  }

  /** @returns {FileReport} */
  #read(file, { testResults, testExecError, failureMessage, numPassingTests }) {
    const failures = testResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages, failureDetails }) => ({
        test: fullName,
        message: failureMessages.join('\n'),
        isExpectation: failureDetails.some((detail) => detail?.matcherResult !== undefined),
      }));
    if (testExecError)
      failures.push({ test: '', message: failureMessage ?? String(testExecError), isExpectation: false });
    return { file: path.relative(this.#root, file), passed: numPassingTests, failures };
  }
}
