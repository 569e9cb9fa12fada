import { BUILD, CONFORMANCE, jest } from './lib/checks.mjs';
import { runSteps } from './lib/run-steps.mjs';

await runSteps([BUILD, CONFORMANCE, jest(['long'], '--runInBand')]);
