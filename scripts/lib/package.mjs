import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { root } from './run-steps.mjs';

/** Builds the package and packs it as npm would publish it. Returns the path of the .tgz. */
export function buildPackage() {
  const program = (name) => path.join(root, 'node_modules', name);
  execFileSync(process.execPath, [program('gulp/bin/gulp.js'), '--silent'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const directory = path.join(root, '.cache');
  mkdirSync(directory, { recursive: true });
  const output = execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', directory], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
    encoding: 'utf8',
  });
  return path.join(directory, output.trim().split('\n').at(-1));
}
