import { BUILD, CHECKS } from './lib/checks.mjs';
import { runSteps, runTogether } from './lib/run-steps.mjs';
import { printOutcome, runTests } from './lib/run-tests.mjs';
import { REDIS, requirePrograms } from './lib/system-programs.mjs';

await requirePrograms([REDIS], { log: (line) => process.stdout.write(`${line}\n`) });
await runTogether(CHECKS);
await runSteps([BUILD]);
// One worker is what jest takes on two processors; these tests wait for half of their time.
process.exit(printOutcome(await runTests(['unit', 'integration'], { options: ['--maxWorkers=4'] })) ? 0 : 1);
