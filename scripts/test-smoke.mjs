import { printOutcome, runTests } from './lib/run-tests.mjs';
import { REDIS, requirePrograms } from './lib/system-programs.mjs';

await requirePrograms([REDIS], { log: (line) => process.stdout.write(`${line}\n`) });
process.exit(printOutcome(await runTests(['smoke'], { options: ['--runInBand', '--forceExit'] })) ? 0 : 1);
