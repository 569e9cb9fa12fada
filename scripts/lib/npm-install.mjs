// Plain JavaScript that an old Node understands: with-node.mjs uses it on a fresh machine.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const progressIntervalMs = 10_000;

/**
 * Installs what the lockfile of a folder names, unless it is there already.
 * @param {object} options
 * @param {string} options.directory
 * @param {string} options.what such as `n8n`
 * @param {string} options.effort how large it is, or how long it takes
 * @param {(line: string) => void} options.log
 * @param {() => Promise<void>} [options.afterwards] belongs to the installation
 * @returns {Promise<void>}
 */
export async function ensureInstalled({ directory, what, effort, log, afterwards }) {
  // Inside node_modules: `npm ci` deletes it first, so an interrupted installation leaves no stamp.
  const stampFile = path.join(directory, 'node_modules', '.lockfile-sha256');
  const wanted = createHash('sha256')
    .update(readFileSync(path.join(directory, 'package-lock.json')))
    .digest('hex');
  if (readStamp(stampFile) === wanted) return;
  const startedAt = Date.now();
  const elapsed = () => `${Math.round((Date.now() - startedAt) / 1000)} s`;
  log(`Installing ${what} (${effort}) ...`);
  const timer = setInterval(() => log(`... still installing ${what}, ${elapsed()}`), progressIntervalMs);
  try {
    await npm(directory, 'ci', '--ignore-scripts');
    await afterwards?.();
  } finally {
    clearInterval(timer);
  }
  writeFileSync(stampFile, wanted);
  log(`Installed ${what} in ${elapsed()}`);
}

/** @param {string} stampFile */
function readStamp(stampFile) {
  try {
    return readFileSync(stampFile, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/**
 * Runs npm in a folder; what it writes is shown only when it fails.
 * @param {string} directory
 * @param {...string} args
 * @returns {Promise<void>}
 */
export function npm(directory, ...args) {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else
        reject(new Error(`"npm ${args.join(' ')}" in ${directory} ended with code ${code}:\n${output.slice(-3_000)}`));
    });
  });
}
