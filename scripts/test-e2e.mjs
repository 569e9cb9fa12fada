import { BUILD, jest } from './lib/checks.mjs';
import { ensureChromium } from './lib/chromium.mjs';
import { ensureMcpPackages } from './lib/mcp-packages.mjs';
import { runSteps } from './lib/run-steps.mjs';

const log = (line) => process.stdout.write(`${line}\n`);
await ensureChromium({ log });
await ensureMcpPackages({ log });
await runSteps([BUILD, jest(['e2e'], '--runInBand')]);
