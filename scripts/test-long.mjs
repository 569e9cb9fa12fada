import { BUILD, jest } from './lib/checks.mjs';
import { runSteps } from './lib/run-steps.mjs';

await runSteps([BUILD, jest(['long'], '--runInBand')]);
