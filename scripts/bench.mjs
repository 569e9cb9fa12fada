// Prints ratios beside other loops, and beside five static branches in a real n8n. `--loop`, `--size`, `--cold` or `--n8n` runs one part.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

import { root } from './lib/run-steps.mjs';

const PARTS = {
  '--size': ['bench/package-size.mjs'],
  '--cold': ['bench/cold-start.mjs'],
  '--loop': ['bench/loop/run.mjs'],
  '--n8n': ['bench/n8n/run.mjs'],
};

const run = (program, args, options = {}) => execFileSync(program, args, { cwd: root, stdio: 'inherit', ...options });
const [chosen, ...rest] = process.argv.slice(2);
const parts = chosen in PARTS ? { [chosen]: PARTS[chosen] } : PARTS;
const passedOn = chosen in PARTS ? rest : process.argv.slice(2);

if (!existsSync(path.join(root, 'bench/node_modules'))) {
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: path.join(root, 'bench'),
  });
}
run(process.execPath, [path.join(root, 'node_modules/gulp/bin/gulp.js'), '--silent']);
for (const [script] of Object.values(parts)) run(process.execPath, [path.join(root, script), ...passedOn]);
