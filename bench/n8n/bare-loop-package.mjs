// Builds, packs and installs the throw-away node, the way ours is: a tarball unpacked beside it.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { BARE_LOOP_PACKAGE } from './subjects.mjs';

const source = fileURLToPath(new URL('./bare-loop-node', import.meta.url));

/** Installs it into n8n's folder, which n8n need not have made yet. */
export async function installBareLoop(userFolder) {
  const directory = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-bare-loop-'));
  try {
    copyFileSync(path.join(source, 'package.json'), path.join(directory, 'package.json'));
    await build({
      entryPoints: [path.join(source, 'BareLoop.node.mjs')],
      outfile: path.join(directory, 'dist/BareLoop.node.js'),
      bundle: true,
      platform: 'node',
      format: 'cjs',
      target: 'node22',
    });
    unpack(pack(directory), userFolder);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function pack(directory) {
  const output = execFileSync('npm', ['pack', '--silent', '--ignore-scripts'], { cwd: directory, encoding: 'utf8' });
  return path.join(directory, output.trim());
}

function unpack(tarball, userFolder) {
  const target = path.join(userFolder, '.n8n', 'nodes', 'node_modules', BARE_LOOP_PACKAGE);
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
}
