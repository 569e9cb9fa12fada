import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const hostDirectory = path.join(root, 'test', 'e2e');
// Inside node_modules: `npm ci` deletes it first, so an interrupted installation leaves no stamp.
const stampFile = path.join(hostDirectory, 'node_modules', '.lockfile-sha256');
const progressIntervalMs = 10_000;

/** Where the private n8n is, and what runs it. */
export const n8nHost = {
  directory: hostDirectory,
  program: path.join(hostDirectory, 'node_modules', 'n8n', 'bin', 'n8n'),
  /** n8n needs Node 24, whatever runs this. */
  node: () => realpathSync(path.join(root, 'node_modules', '.bin', 'node')),
};

/**
 * Installs the private n8n that the lockfile in test/e2e names, unless it is there already.
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<void>}
 */
export async function ensureHostInstalled({ log }) {
  const wanted = createHash('sha256')
    .update(readFileSync(path.join(hostDirectory, 'package-lock.json')))
    .digest('hex');
  if (readStamp() === wanted) return;
  const startedAt = performance.now();
  const elapsed = () => `${Math.round((performance.now() - startedAt) / 1000)} s`;
  log('Installing n8n (2.7 GB; one to three minutes, this once) ...');
  const timer = setInterval(() => log(`... still installing n8n, ${elapsed()}`), progressIntervalMs);
  try {
    await runNpmCi();
  } finally {
    clearInterval(timer);
  }
  writeFileSync(stampFile, wanted);
  log(`n8n is installed after ${elapsed()}`);
}

function readStamp() {
  try {
    return readFileSync(stampFile, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** @returns {Promise<void>} */
function runNpmCi() {
  return new Promise((resolve, reject) => {
    const npm = spawn('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: hostDirectory,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk) => (output += chunk));
    npm.once('error', reject);
    npm.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`"npm ci" in test/e2e ended with code ${code}:\n${output.slice(-3_000)}`));
    });
  });
}
