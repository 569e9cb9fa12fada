import { existsSync } from 'node:fs';
import path from 'node:path';

import type { TransportCall } from '../../contracts/tools/tool-transport';
import { untilAborted } from '../../util/abort';
import { createFairLimit, NOT_DONE } from '../../util/fair-limit';
import { askFork, forkLimited } from '../../util/fork-limited';
import type { PageJob, PageResult } from './page-process';

/** However many runs read pages at once: each process takes a processor and its memory. Tenants take turns. */
const oneOfFew = createFairLimit({ running: 4, waiting: 200 });
const MEMORY_MB = 256;

/**
 * Reads HTML in a process of its own: a page can be made so that it takes minutes or all memory, and neither this process
 * nor any other tenant should suffer for it. That process knows nothing of our environment.
 * Rejects when the page cannot be read, too many others wait, or the signal aborts.
 */
export async function readPage(
  job: PageJob,
  { meta, signal }: Pick<TransportCall, 'meta' | 'signal'>,
): Promise<PageResult> {
  const result = await oneOfFew({ key: meta.tenant_id, signal }, () => readInProcess(job, signal));
  if (result !== NOT_DONE) return result;
  signal.throwIfAborted();
  throw new Error('too many other pages wait to be read');
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
