import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { build } from 'esbuild';

import { root } from './run-steps.mjs';

/**
 * Bundles our client pool as the client under test of the conformance suite.
 * @returns {Promise<string>} the path of the program
 */
export async function buildConformanceClient() {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['test/conformance/client.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    loader: { '.sql': 'text' },
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    write: false,
  });
  const program = path.join(root, '.cache', 'conformance-client.mjs');
  mkdirSync(path.dirname(program), { recursive: true });
  // Renamed into place: a client that is starting meanwhile must not read half a file.
  const draft = `${program}.${process.pid}`;
  writeFileSync(draft, outputFiles[0].contents);
  renameSync(draft, program);
  return program;
}
