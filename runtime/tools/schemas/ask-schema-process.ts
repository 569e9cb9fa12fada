import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

import type { CheckedFor } from '../../contracts/tools/tool';
import { createFairLimit, NOT_DONE } from '../../util/fair-limit';
import { askFork, forkLimited } from '../../util/fork-limited';
import type { SchemaJob, SchemaVerdict } from './schema-process';

/** However many runs check by large schemas at once: each process takes a processor and its memory. */
const MAX_PROCESSES = 2;
/** More than these do not wait: they would wait longer than a run may take. */
const MAX_WAITING = 100;
const oneOfFew = createFairLimit({ running: MAX_PROCESSES, waiting: MAX_WAITING });
const MEMORY_MB = 64;
/** A process without work is ended after so long. */
const IDLE_MS = 10_000;

interface Idle {
  readonly child: ChildProcess;
  readonly timer: NodeJS.Timeout;
}

const idle: Idle[] = [];

/**
 * Checks a value in a process of its own, for schemas and values that may take longer or more memory than the event loop has
 * for one run. Whatever they do there, that process is ended and this one goes on; it knows nothing of our environment.
 */
export async function askSchemaProcess(job: SchemaJob, checkedFor?: CheckedFor): Promise<SchemaVerdict> {
  const share = { key: checkedFor?.tenantId ?? '', signal: checkedFor?.signal };
  const verdict = await oneOfFew(share, () => checkThere(job));
  if (verdict !== NOT_DONE) return verdict;
  return {
    reason: share.signal?.aborted === true ? 'the run has ended' : 'too many others wait to be checked',
  };
}

async function checkThere(job: SchemaJob): Promise<SchemaVerdict> {
  let child: ChildProcess | undefined;
  try {
    child = takeIdle() ?? forkLimited(processFile(), MEMORY_MB);
    const verdict = await askFork<SchemaVerdict>(child, job);
    keep(child);
    return verdict;
  } catch {
    child?.kill('SIGKILL');
    return { reason: 'it takes too much time or memory' };
  }
}

function takeIdle(): ChildProcess | undefined {
  const known = idle.pop();
  if (known === undefined) return undefined;
  clearTimeout(known.timer);
  if (!known.child.connected) return undefined;
  known.child.ref();
  known.child.channel?.ref();
  return known.child;
}

/** Holds up nobody's end: it goes with this process, or after a while. */
function keep(child: ChildProcess): void {
  const entry = { child, timer: setTimeout(() => drop(entry), IDLE_MS).unref() };
  child.unref();
  child.channel?.unref();
  idle.push(entry);
}

function drop(entry: Idle): void {
  idle.splice(idle.indexOf(entry), 1);
  entry.child.kill('SIGKILL');
}

/** The program's file: in the package it stands beside the bundle, in the sources beside this file. */
function processFile(): string {
  const bundled = path.join(__dirname, '../schema-process.js');
  return existsSync(bundled) ? bundled : path.join(__dirname, 'schema-process.ts');
}
