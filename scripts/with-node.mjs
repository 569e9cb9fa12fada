// Runs a script of this project, or a program of node_modules, with the Node that it needs, after installing what is
// missing. Plain JavaScript that an old Node understands, since that is what a fresh machine may have.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const modules = path.join(root, 'node_modules');
const programs = path.join(modules, '.bin');
const stamp = path.join(modules, '.installed');

function lockfileDigest() {
  return createHash('sha256')
    .update(readFileSync(path.join(root, 'package-lock.json')))
    .digest('hex');
}

function isInstalled() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === lockfileDigest();
}

function install() {
  const startedAt = Date.now();
  process.stderr.write('Installing the development packages (about a minute) …\n');
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync('npm', ['ci', '--ignore-scripts', ...quiet], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  // The Node that everything else runs on comes as a package; only its own script puts the program in place.
  execFileSync('npm', ['rebuild', 'node', '--ignore-scripts=false', ...quiet], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  writeFileSync(stamp, lockfileDigest());
  process.stderr.write(`Installed in ${Math.round((Date.now() - startedAt) / 1000)} s.\n`);
}

const [target, ...args] = process.argv.slice(2);
if (!isInstalled()) install();
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
