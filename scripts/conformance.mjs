// Runs the MCP protocol's conformance suites against our client pool. Arguments, if any, name the scenarios to run.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { buildConformanceClient } from './lib/conformance-client.mjs';
import { openSuite } from './lib/conformance-suite.mjs';
import { ensureMcpPackages } from './lib/mcp-packages.mjs';
import { onProcessExit } from './lib/process-exit.mjs';

/** Both generations of the protocol, and how many scenarios each must have. */
const SUITES = [
  { packageName: '@modelcontextprotocol/conformance', count: 44 },
  { packageName: 'conformance-0-1', count: 26 },
];
const AT_A_TIME = 2;

const log = (line) => process.stdout.write(`${line}\n`);

async function clientCommand() {
  const words = [process.execPath, await buildConformanceClient()];
  const spaced = words.find((word) => word.includes(' '));
  // The suite starts it through a shell and ends that when time is up: with `exec`, that is the client itself.
  if (spaced === undefined) return ['exec', ...words].join(' ');
  throw new Error(`The conformance suite splits the client's command at spaces, and "${spaced}" holds one: move it.`);
}

async function listScenarios(suite, count) {
  const names = await suite.list();
  if (names.length === count) return names.map((scenario) => ({ suite, scenario }));
  throw new Error(`Conformance suite ${suite.version} lists ${names.length} client scenarios instead of ${count}.`);
}

async function runAll(queue) {
  const finished = [];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const result = await next.suite.run(next.scenario);
      finished.push(result);
      const { version, scenario, passed, seconds } = result;
      log(`${version} ${scenario} ${passed ? 'ok' : 'FAILED'} ${seconds.toFixed(1)} s`);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return finished;
}

function report(suites, finished) {
  for (const { version, scenario, report: text } of finished.filter(({ passed }) => !passed)) {
    log(`\n✘ ${version} ${scenario}\n${text.replaceAll(/^/gm, '    ')}`);
  }
  log('');
  for (const { version } of suites) {
    const own = finished.filter((result) => result.version === version);
    log(`${version}: ${own.filter(({ passed }) => passed).length} of ${own.length} scenarios passed`);
  }
}

const wanted = process.argv.slice(2);
await ensureMcpPackages({ log });
const results = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-conformance-'));
onProcessExit(() => rmSync(results, { recursive: true, force: true }));

const command = await clientCommand();
const suites = SUITES.map(({ packageName }) => openSuite({ packageName, clientCommand: command, results }));
const listed = await Promise.all(suites.map((suite, index) => listScenarios(suite, SUITES[index].count)));
const queue = listed.flat().filter(({ scenario }) => wanted.length === 0 || wanted.includes(scenario));
if (queue.length === 0) throw new Error(`No scenario is called ${wanted.join(' or ')}.`);
const finished = await runAll(queue);
report(suites, finished);
process.exit(finished.every(({ passed }) => passed) ? 0 : 1);
