import { CHECKS } from './lib/checks.mjs';
import { runSteps } from './lib/run-steps.mjs';

await runSteps(CHECKS);
