// Runs a script of this project, or a program of node_modules, with the Node that it needs, after installing what is
// missing. Plain JavaScript that an old Node understands, since that is what a fresh machine may have.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { ensureHostInstalled } from './lib/n8n-install.mjs';
import { ensureInstalled, npm } from './lib/npm-install.mjs';

// One clock for what is installed and what runs then.
const startedAt = Date.now();
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const programs = path.join(root, 'node_modules', '.bin');

/** These need the real n8n, or nodes of it. */
const N8N_SCRIPTS = ['demo', 'test-smoke', 'test-e2e', 'test-long', 'test-all'].map((name) => `scripts/${name}.mjs`);

const log = (line) => process.stderr.write(`${line}\n`);

const ensurePackagesInstalled = () =>
  ensureInstalled({
    directory: root,
    what: 'the development packages',
    effort: 'about a minute',
    log,
    // The Node that everything else runs on comes as a package; only its own script puts the program in place.
    afterwards: () => npm(root, 'rebuild', 'node', '--ignore-scripts=false'),
  });

const [target, ...args] = process.argv.slice(2);
await Promise.all([ensurePackagesInstalled(), N8N_SCRIPTS.includes(target) ? ensureHostInstalled({ log }) : undefined]);
const script = target.endsWith('.mjs') ? path.join(root, target) : path.join(programs, target);
const child = spawn(path.join(programs, 'node'), [script, ...args], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, PATH: programs + path.delimiter + process.env.PATH, STARTED_AT: String(startedAt) },
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
});
