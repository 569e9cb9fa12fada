import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

import pLimit from 'p-limit';

import { untilAborted } from '../../util/abort';
import type { PageJob, PageResult } from './page-process';

/** However many runs read pages at once: each process takes a processor and its memory. */
const oneOfFew = pLimit(4);
/** A page that takes longer is given up. */
const MAX_MS = 5000;
const MEMORY_LIMIT = '--max-old-space-size=256';

/**
 * Reads HTML in a process of its own: a page can be made so that it takes minutes or all memory, and neither this process
 * nor any other tenant should suffer for it. That process knows nothing of our environment.
 * Rejects when the page cannot be read or the signal aborts.
 */
export function readPage(job: PageJob, signal: AbortSignal): Promise<PageResult> {
  return oneOfFew(() => readInProcess(job, signal));
}

async function readInProcess(job: PageJob, signal: AbortSignal): Promise<PageResult> {
  signal.throwIfAborted();
  const child = fork(processFile(), [], {
    env: {},
    execArgv: [MEMORY_LIMIT],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  try {
    return await untilAborted(resultOf(child, job), AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]));
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Error('the page cannot be read: it takes too much time or memory', { cause: error });
  } finally {
    child.kill('SIGKILL');
  }
}

function resultOf(child: ChildProcess, job: PageJob): Promise<PageResult> {
  return new Promise((resolve, reject) => {
    child.once('message', (result) => resolve(result as unknown as PageResult));
    child.once('error', reject);
    child.once('exit', () => reject(new Error('the process ended')));
    child.send(job, (error) => {
      if (error !== null) reject(error);
    });
  });
}

/** The program's file: in the package it stands beside the bundle, in the sources beside this file. */
function processFile(): string {
  const bundled = path.join(__dirname, 'page-process.js');
  return existsSync(bundled) ? bundled : path.join(__dirname, 'page-process.ts');
}
