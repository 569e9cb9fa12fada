import { randomBytes } from 'node:crypto';

import { command } from '../command';
import { terminal } from '../terminal';

export const keygenCommand = command({
  words: 'keygen',
  help: 'Print a new vault key.',
  run: () => {
    terminal().stdout.write(`${randomBytes(32).toString('base64')}\n`);
    return 0;
  },
});
