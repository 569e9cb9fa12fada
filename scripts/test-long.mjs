import { BUILD, CONFORMANCE, PAUSES } from './lib/checks.mjs';
import { runSteps } from './lib/run-steps.mjs';
import { printOutcome, runTests } from './lib/run-tests.mjs';
import { REDIS, requirePrograms } from './lib/system-programs.mjs';

await requirePrograms([REDIS], { log: (line) => process.stdout.write(`${line}\n`) });
await runSteps([BUILD, CONFORMANCE, PAUSES]);
// These tests wait for leases and restarts more than they compute.
process.exit(printOutcome(await runTests(['long'], { options: ['--maxWorkers=2'] })) ? 0 : 1);
