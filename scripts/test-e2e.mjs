import { BUILD, jest } from './lib/checks.mjs';
import { ensureMcpPackages } from './lib/mcp-packages.mjs';
import { runSteps } from './lib/run-steps.mjs';
import { CHROMIUM, REDIS, requirePrograms } from './lib/system-programs.mjs';

const log = (line) => process.stdout.write(`${line}\n`);
await requirePrograms([CHROMIUM, REDIS], { log });
await ensureMcpPackages({ log });
await runSteps([BUILD, jest(['e2e'], '--runInBand')]);
