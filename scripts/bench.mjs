// Prints ratios beside other loops, and beside five static branches in a real n8n. `--loop`, `--mcp`, `--migrate`, `--policy`, `--pause`, `--queue`, `--size`, `--cold`, `--n8n` or `--stream` runs one part.
import { execFileSync } from 'node:child_process';
import path from 'node:path';

import { ensureInstalled } from './lib/npm-install.mjs';
import { root } from './lib/run-steps.mjs';

const PARTS = {
  '--size': ['bench/package-size.mjs'],
  '--cold': ['bench/cold-start.mjs'],
  '--pause': ['--expose-gc', '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON', 'bench/pause/run.mjs'],
  '--loop': ['bench/loop/run.mjs'],
  '--policy': ['bench/policy/run.mjs'],
  // The Redis of the tests is TypeScript in a package of CommonJS.
  '--queue': ['--disable-warning=MODULE_TYPELESS_PACKAGE_JSON', 'bench/queue/run.mjs'],
  '--mcp': ['--expose-gc', 'bench/mcp/run.mjs'],
  '--migrate': ['bench/migrate/run.mjs'],
  '--n8n': ['bench/n8n/run.mjs'],
  '--stream': ['bench/stream/run.mjs'],
};

const run = (program, args, options = {}) => execFileSync(program, args, { cwd: root, stdio: 'inherit', ...options });
const [chosen, ...rest] = process.argv.slice(2);
const parts = chosen in PARTS ? { [chosen]: PARTS[chosen] } : PARTS;
const passedOn = chosen in PARTS ? rest : process.argv.slice(2);

await ensureInstalled({
  directory: path.join(root, 'bench'),
  what: 'what we are compared with',
  effort: 'some seconds',
  log: (line) => process.stderr.write(`${line}\n`),
});
run(process.execPath, [path.join(root, 'node_modules/gulp/bin/gulp.js'), '--silent']);
for (const part of Object.values(parts)) run(process.execPath, [...part, ...passedOn]);
