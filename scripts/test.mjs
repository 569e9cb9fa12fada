import { BUILD, CHECKS, jest } from './lib/checks.mjs';
import { runSteps, runTogether } from './lib/run-steps.mjs';
import { REDIS, requirePrograms } from './lib/system-programs.mjs';

await requirePrograms([REDIS], { log: (line) => process.stdout.write(`${line}\n`) });
await runTogether(CHECKS);
// One worker is what jest takes on two processors; these tests wait more than they compute.
await runSteps([BUILD, jest(['unit', 'integration'], '--maxWorkers=2')]);
