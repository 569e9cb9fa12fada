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
 * Runs a program of node_modules with this Node; its output is shown.
 * @param {string} program such as `jest/bin/jest.js`
 * @param {string[]} args
 * @returns {Promise<number>} the exit code
 */
function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [path.join(root, 'node_modules', program), ...args], {
      cwd: root,
      stdio: 'inherit',
      env: cleanEnvironment(),
    });
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

/**
 * Runs steps one after another and ends the process with 1 at the first that fails.
 * @param {readonly {name: string, program: string, args?: string[]}[]} steps
 */
export async function runSteps(steps) {
  for (const { name, program, args = [] } of steps) {
    const startedAt = performance.now();
    process.stdout.write(`\n▶ ${name}\n`);
    const code = await run(program, args);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    process.stdout.write(`${code === 0 ? '✔' : '✘'} ${name} (${seconds} s)\n`);
    if (code !== 0) process.exit(1);
  }
}
