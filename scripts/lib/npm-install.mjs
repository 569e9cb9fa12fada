// Plain JavaScript that an old Node understands: with-node.mjs uses it on a fresh machine.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { onProcessExit } from './process-exit.mjs';

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
    await installLocked(directory);
    await afterwards?.();
  } finally {
    clearInterval(timer);
  }
  writeFileSync(stampFile, wanted);
  log(`Installed ${what} in ${elapsed()}`);
}

/**
 * A lockfile without addresses makes npm read the registry's page of each package first, which for n8n's 2,300 takes longer
 * than the download. So it gets the addresses that the registry's layout implies, in a shrinkwrap file that npm prefers for as
 * long as it is there. A registry with another layout is asked for its pages.
 *
 * @param {string} directory
 */
async function installLocked(directory) {
  const shrinkwrap = path.join(directory, 'npm-shrinkwrap.json');
  const remove = () => rmSync(shrinkwrap, { force: true });
  const withdraw = onProcessExit(remove);
  const install = () => npm(directory, 'ci', '--ignore-scripts');
  try {
    const registry = (await npm(directory, 'config', 'get', 'registry')).trim().split('\n').at(-1).replace(/\/*$/, '/');
    const lock = JSON.parse(readFileSync(path.join(directory, 'package-lock.json'), 'utf8'));
    for (const [place, entry] of Object.entries(lock.packages)) {
      if (place === '' || entry.link || entry.inBundle || entry.resolved) continue;
      const name = entry.name ?? place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
      entry.resolved = `${registry}${name}/-/${name.slice(name.lastIndexOf('/') + 1)}-${entry.version}.tgz`;
    }
    writeFileSync(shrinkwrap, JSON.stringify(lock));
    await install();
  } catch {
    remove();
    await install();
  } finally {
    remove();
    withdraw();
  }
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
 * @returns {Promise<string>} what it wrote
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
      if (code === 0) resolve(output);
      else
        reject(new Error(`"npm ${args.join(' ')}" in ${directory} ended with code ${code}:\n${output.slice(-3_000)}`));
    });
  });
}
