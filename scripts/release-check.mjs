// Refuses a release whose addresses lead nowhere. Needs the internet.
import { readFileSync } from 'node:fs';
import path from 'node:path';

import { findDeadAddresses, findReleaseFaults } from './lib/release.mjs';
import { root } from './lib/run-steps.mjs';

const read = (file) => readFileSync(path.join(root, file), 'utf8');
const manifest = JSON.parse(read('package.json'));
const faults = [
  ...findReleaseFaults({ manifest, contacts: { 'SECURITY.md': read('SECURITY.md') } }),
  ...(await findDeadAddresses(manifest)),
];
for (const fault of faults) process.stderr.write(`✘ ${fault}\n`);
if (faults.length > 0) process.exit(1);
process.stdout.write('✔ Every address leads somewhere. Remove "private" from package.json, build, and publish.\n');
