import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** No test may lean on a key that happens to be set. */
const SECRET_VARIABLES = /^(OPENROUTER|OPENAI|ANTHROPIC|DATABASE|REDIS|AGENT|PG)[A-Z_]*$/;

function cleanEnvironment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !SECRET_VARIABLES.test(name)));
}

/**
 * Runs a program of node_modules with this Node.
 * @param {{ name: string, program: string, args?: string[], cwd?: string, env?: NodeJS.ProcessEnv }} step `program` such as
 *   `jest/bin/jest.js`; `env` is added to this process's own; `cwd` defaults to the project
 * @param {'inherit' | 'pipe'} output shown as it comes, or when the program has ended
 * @returns {Promise<boolean>} whether it went well
 */
export function run({ name, program, args = [], cwd = root, env = {} }, output) {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [path.join(root, 'node_modules', program), ...args], {
      cwd,
      stdio: ['inherit', output, output],
      env: { ...cleanEnvironment(), ...env },
    });
    const said = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => said.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      process.stdout.write(Buffer.concat(said));
      process.stdout.write(`${code === 0 ? '✔' : '✘'} ${name} (${seconds} s)\n`);
      resolve(code === 0);
    });
  });
}

/**
 * Runs steps one after another and ends the process with 1 at the first that fails.
 * @param {readonly {name: string, program: string, args?: string[]}[]} steps
 */
export async function runSteps(steps) {
  for (const step of steps) {
    process.stdout.write(`\n▶ ${step.name}\n`);
    if (!(await run(step, 'inherit'))) process.exit(1);
  }
}

/** Runs steps beside one another, and ends the process with 1 when all have ended and one has failed. */
export async function runTogether(steps) {
  process.stdout.write(`\n▶ ${steps.map(({ name }) => name).join(', ')}\n`);
  const ended = await Promise.all(steps.map((step) => run(step, 'pipe')));
  if (ended.includes(false)) process.exit(1);
}
