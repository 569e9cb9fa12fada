import { BUILD, CONFORMANCE, jest } from './lib/checks.mjs';
import { runSteps } from './lib/run-steps.mjs';

// These tests wait for leases and restarts more than they compute.
await runSteps([BUILD, CONFORMANCE, jest(['long'], '--maxWorkers=2')]);
