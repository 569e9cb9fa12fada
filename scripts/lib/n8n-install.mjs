import { realpathSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { ensureInstalled } from './npm-install.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const hostDirectory = path.join(root, 'test', 'e2e');

/** Where the private n8n is, and what runs it. */
export const n8nHost = {
  directory: hostDirectory,
  program: path.join(hostDirectory, 'node_modules', 'n8n', 'bin', 'n8n'),
  /** n8n needs Node 24, whatever runs this. */
  node: () => realpathSync(path.join(root, 'node_modules', '.bin', 'node')),
};

/**
 * Installs the private n8n that the lockfile in test/e2e names, unless it is there already.
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<void>}
 */
export function ensureHostInstalled({ log }) {
  const effort = '2.7 GB; two to six minutes, this once';
  return ensureInstalled({ directory: hostDirectory, what: 'n8n', effort, log });
}
