import { BUILD, CHECKS } from './lib/checks.mjs';
import { runSteps, runTogether } from './lib/run-steps.mjs';
import { printOutcome, runTests } from './lib/run-tests.mjs';
import { REDIS, requirePrograms } from './lib/system-programs.mjs';

await requirePrograms([REDIS], { log: (line) => process.stdout.write(`${line}\n`) });
await runTogether(CHECKS);
await runSteps([BUILD]);
// On two processors jest would start one worker. These tests spend half of their time waiting.
process.exit(printOutcome(await runTests(['unit', 'integration'], { options: ['--maxWorkers=4'] })) ? 0 : 1);
