// Runs a script of this project, or a program of node_modules, with the Node that it needs, after installing what is
// missing. Plain JavaScript that an old Node understands, since that is what a fresh machine may have.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { ensureHostInstalled } from './lib/n8n-install.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const modules = path.join(root, 'node_modules');
const programs = path.join(modules, '.bin');
const stamp = path.join(modules, '.installed');

/** These need the real n8n too. */
const N8N_SCRIPTS = ['scripts/demo.mjs', 'scripts/test-e2e.mjs'];

const log = (line) => process.stderr.write(`${line}\n`);

function lockfileDigest() {
  return createHash('sha256')
    .update(readFileSync(path.join(root, 'package-lock.json')))
    .digest('hex');
}

async function ensureInstalled() {
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockfileDigest()) return;
  const startedAt = Date.now();
  log('Installing the development packages (about a minute) ...');
  await npm('ci', '--ignore-scripts');
  // The Node that everything else runs on comes as a package; only its own script puts the program in place.
  await npm('rebuild', 'node', '--ignore-scripts=false');
  writeFileSync(stamp, lockfileDigest());
  log(`The development packages are installed after ${Math.round((Date.now() - startedAt) / 1000)} s`);
}

function npm(...args) {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`"npm ${args.join(' ')}" ended with code ${code}`)),
    );
  });
}

const [target, ...args] = process.argv.slice(2);
await Promise.all([ensureInstalled(), N8N_SCRIPTS.includes(target) ? ensureHostInstalled({ log }) : undefined]);
const script = target.endsWith('.mjs') ? path.join(root, target) : path.join(programs, target);
const child = spawn(path.join(programs, 'node'), [script, ...args], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, PATH: programs + path.delimiter + process.env.PATH },
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
});
