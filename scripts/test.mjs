import { BUILD, CHECKS, jest } from './lib/checks.mjs';
import { runSteps } from './lib/run-steps.mjs';

await runSteps([...CHECKS, BUILD, jest(['unit', 'integration'])]);
