import { existsSync } from 'node:fs';
import path from 'node:path';

import pLimit from 'p-limit';

import { untilAborted } from '../../util/abort';
import { askFork, forkLimited } from '../../util/fork-limited';
import type { PageJob, PageResult } from './page-process';

/** However many runs read pages at once: each process takes a processor and its memory. */
const oneOfFew = pLimit(4);
const MEMORY_MB = 256;

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
  const child = forkLimited(processFile(), MEMORY_MB);
  try {
    return await untilAborted(askFork<PageResult>(child, job), signal);
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Error('the page cannot be read: it takes too much time or memory', { cause: error });
  } finally {
    child.kill('SIGKILL');
  }
}

/** The program's file: in the package it stands beside the bundle, in the sources beside this file. */
function processFile(): string {
  const bundled = path.join(__dirname, 'page-process.js');
  return existsSync(bundled) ? bundled : path.join(__dirname, 'page-process.ts');
}
