import { BUILD } from './lib/checks.mjs';
import { ensureMcpPackages } from './lib/mcp-packages.mjs';
import { runSteps } from './lib/run-steps.mjs';
import { printOutcome, runTests } from './lib/run-tests.mjs';
import { CHROMIUM, REDIS, requirePrograms } from './lib/system-programs.mjs';

const log = (line) => process.stdout.write(`${line}\n`);
await requirePrograms([CHROMIUM, REDIS], { log });
await ensureMcpPackages({ log });
await runSteps([BUILD]);
process.exit(printOutcome(await runTests(['e2e'], { options: ['--runInBand', '--forceExit'] })) ? 0 : 1);
