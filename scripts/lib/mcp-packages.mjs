import path from 'node:path';

import { ensureInstalled } from './npm-install.mjs';
import { root } from './run-steps.mjs';

const directory = path.join(root, 'test', 'mcp');

/** @param {...string} names such as `@playwright/mcp`, `cli.js` */
export const mcpPackagePath = (...names) => path.join(directory, 'node_modules', ...names);

/**
 * Installs the conformance suites and MCP servers that the lockfile in test/mcp names, unless they are there already.
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<void>}
 */
export function ensureMcpPackages({ log }) {
  return ensureInstalled({ directory, what: 'the MCP packages', effort: '75 MB; some seconds, this once', log });
}
