import { BUILD, CHECKS, jest } from './lib/checks.mjs';
import { runSteps, runTogether } from './lib/run-steps.mjs';

await runTogether(CHECKS);
// One worker is what jest takes on two processors; these tests wait more than they compute.
await runSteps([BUILD, jest(['unit', 'integration'], '--maxWorkers=2')]);
