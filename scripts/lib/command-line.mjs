import { spawn } from 'node:child_process';
import path from 'node:path';

import { root } from './run-steps.mjs';

const program = path.join(root, 'dist/runtime/cli.js');

/**
 * Runs our own command line and gives its JSON output.
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, input?: string }} [options]
 */
export async function commandLine(args, options) {
  return JSON.parse(await commandLineText(args, options));
}

/**
 * The same for a command whose output is for people.
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, input?: string }} [options]
 */
export function commandLineText(args, { env = {}, input } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { env: { ...process.env, ...env } });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (errors += chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`universal-ai-agent ${args.join(' ')} ended with ${code}: ${errors}`));
    });
    child.stdin.end(input);
  });
}
