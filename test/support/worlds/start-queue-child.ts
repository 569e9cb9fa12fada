import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';

import { buildSync } from 'esbuild';

import type { Death } from './queue-child';

const ROOT = path.resolve(__dirname, '../../..');
let script: string | undefined;
const children: ChildProcess[] = [];
process.once('exit', () => children.forEach((child) => child.kill('SIGKILL')));

export interface QueueChild {
  readonly process: ChildProcess;
  readonly ended: Promise<void>;
}

/** Starts a consumer of the list as a process of its own, made of the sources, so that it can die where we want it. */
export function startQueueChild(url: string, list: string, death: Death = 'never'): QueueChild {
  script ??= buildSync({
    entryPoints: [path.join(ROOT, 'test/support/worlds/queue-child.ts')],
    bundle: true,
    platform: 'node',
    packages: 'external',
    write: false,
  }).outputFiles[0]?.text;
  const child = spawn(process.execPath, ['-', url, list, death], {
    cwd: ROOT,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin.on('error', () => undefined).end(script);
  children.push(child);
  return { process: child, ended: new Promise((resolve) => child.once('exit', () => resolve())) };
}
