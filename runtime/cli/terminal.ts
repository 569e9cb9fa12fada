import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable } from 'node:stream';

type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** The streams and the environment of one command: those of the process, or a test's own. */
export interface Terminal {
  readonly stdin: Readable;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const current = new AsyncLocalStorage<Terminal>();

/** The terminal of the command that calls this. */
export function terminal(): Terminal {
  return current.getStore() ?? process;
}

/** Runs a command with a terminal of its own, also beside others in one process. */
export function withTerminal<T>(own: Terminal, run: () => T): T {
  return current.run(own, run);
}
