import { BUILD, CONFORMANCE, jest } from './lib/checks.mjs';
import { runSteps } from './lib/run-steps.mjs';
import { REDIS, requirePrograms } from './lib/system-programs.mjs';

await requirePrograms([REDIS], { log: (line) => process.stdout.write(`${line}\n`) });
// These tests wait for leases and restarts more than they compute.
await runSteps([BUILD, CONFORMANCE, jest(['long'], '--maxWorkers=2')]);
