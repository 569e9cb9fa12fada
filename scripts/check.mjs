import { CHECKS } from './lib/checks.mjs';
import { runTogether } from './lib/run-steps.mjs';

await runTogether(CHECKS);
