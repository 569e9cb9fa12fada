import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

import { startBackgroundProcess } from './background-process.mjs';
import { mcpPackagePath } from './mcp-packages.mjs';

const clientTimeoutMs = 30_000;
/** The suite also has to start and stop its own servers. */
const scenarioTimeoutMs = clientTimeoutMs + 10_000;
const stderrTailCharacters = 2_000;

/**
 * @typedef {object} ScenarioResult
 * @property {string} version
 * @property {string} scenario
 * @property {boolean} passed
 * @property {number} seconds
 * @property {string} report what there is to read when it failed
 */

/**
 * One installed version of the conformance suite.
 * @param {{ packageName: string, clientCommand: string, results: string }} options `results` is a folder to write in
 */
export function openSuite({ packageName, clientCommand, results }) {
  const program = mcpPackagePath(packageName, 'dist', 'index.js');
  const { version } = JSON.parse(readFileSync(mcpPackagePath(packageName, 'package.json'), 'utf8'));
  return {
    version,
    /** @returns {Promise<string[]>} the names of the scenarios that test a client */
    async list() {
      const { stdout } = await promisify(execFile)(process.execPath, [program, 'list', '--client'], { cwd: results });
      return [...stdout.matchAll(/^\s+- (\S+)/gm)].map(([, name]) => name);
    },
    /**
     * @param {string} scenario
     * @returns {Promise<ScenarioResult>}
     */
    async run(scenario) {
      const directory = mkdtempSync(path.join(results, 'scenario-'));
      const options = { '--command': clientCommand, '--scenario': scenario, '--timeout': `${clientTimeoutMs}` };
      const args = [program, 'client', ...Object.entries(options).flat(), '--output-dir', directory];
      const startedAt = performance.now();
      const { ended, log } = await runToEnd(args, directory);
      const seconds = (performance.now() - startedAt) / 1000;
      const { checks, stderr } = readResults(directory);
      // A scenario that checked nothing proves nothing, whatever the exit code.
      const passed = ended === 'ended with code 0' && checks.some(({ status }) => status === 'SUCCESS');
      return { version, scenario, passed, seconds, report: describe({ ended, log, checks, stderr }) };
    },
  };
}

/** @param {string[]} args
 * @param {string} cwd */
async function runToEnd(args, cwd) {
  const suite = startBackgroundProcess({
    command: process.execPath,
    args,
    env: process.env,
    cwd,
    exitSignal: 'SIGKILL',
  });
  const timer = setTimeout(() => void suite.stop({ signal: 'SIGKILL' }), scenarioTimeoutMs);
  const ended = await suite.ended;
  clearTimeout(timer);
  return { ended, log: suite.logText() };
}

/** @param {string} directory where the suite has written, unless it broke off */
function readResults(directory) {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  const read = (name) => {
    const file = files.find((candidate) => path.basename(candidate) === name);
    return file === undefined ? undefined : readFileSync(path.join(directory, file), 'utf8');
  };
  return { checks: JSON.parse(read('checks.json') ?? '[]'), stderr: read('stderr.txt') };
}

function describe({ ended, log, checks, stderr }) {
  const failed = checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ status, name, description, errorMessage }) =>
      [`${status.toLowerCase()}: ${name}: ${description}`, errorMessage].filter(Boolean).join('; '),
    );
  const remarks = [...log.matchAll(/CLIENT (?:TIMED OUT|EXITED) .*/g)].map(([line]) => line);
  const [source, text] = stderr === undefined ? ['suite', log] : ['client', stderr];
  const tail = text.slice(-stderrTailCharacters).trim().split('\n');
  return [
    `the suite ${ended} after ${checks.length} checks`,
    ...remarks,
    ...failed,
    `the end of what the ${source} wrote:`,
    ...tail.map((line) => `  ${line}`),
  ].join('\n');
}
