// Keeps every processor busy at normal priority, as other work on a shared machine does, until it is stopped or its parent
// ends: `node scripts/busy.mjs & npm test; kill $!`. An argument is the number of busy loops; default: one a processor.
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

const loops = Number(process.argv[2] ?? availableParallelism());
const parent = process.ppid;
for (let count = 0; count < loops; count++) new Worker('for (;;);', { eval: true });
setInterval(() => {
  if (process.ppid !== parent) process.exit();
}, 1000);
process.stdout.write(`${loops} busy loops until process ${parent} ends\n`);
