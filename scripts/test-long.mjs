import { BUILD, CONFORMANCE, jest } from './lib/checks.mjs';
import { runSteps } from './lib/run-steps.mjs';

// One after the other; in a process that is made anew when it has grown, since n8n's engine stays in its memory.
await runSteps([BUILD, CONFORMANCE, jest(['long'], '--maxWorkers=1', '--workerIdleMemoryLimit=1GB')]);
