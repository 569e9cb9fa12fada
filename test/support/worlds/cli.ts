import '../setup/errors-of-node';

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

import { runCommandLine } from '../../../runtime/cli/main';

const CLI = path.resolve(__dirname, '../../../dist/runtime/cli.js');

export interface CliOutcome {
  /** Null when a signal ended the process. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliRun {
  readonly process: ChildProcess;
  readonly ended: Promise<CliOutcome>;
}

export interface CliOptions {
  /** The whole environment, but for PATH: nothing of the test run's own leaks in. */
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  /** Whoever starts it writes the input. */
  readonly keepsInput?: boolean;
}

/** Starts the built command line as a process of its own. */
export function startCli(
  args: readonly string[],
  { env = {}, input = '', keepsInput = false }: CliOptions = {},
): CliRun {
  if (!existsSync(CLI)) throw new Error('dist/runtime/cli.js is missing: run `npm run build` first');
  const child = spawn(process.execPath, [CLI, ...args], { env: { PATH: process.env.PATH, ...env } });
  const ended = new Promise<CliOutcome>((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', reject);
    child.on('close', (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
  // A command that does not read its input may be gone before it is written.
  child.stdin.on('error', () => undefined);
  if (!keepsInput) child.stdin.end(input);
  return { process: child, ended };
}

/** Runs the command line of the sources to its end, in this process: it has an environment and streams of its own. */
export async function runCli(
  args: readonly string[],
  { env = {}, input = '' }: Omit<CliOptions, 'keepsInput'> = {},
): Promise<CliOutcome> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const written = Promise.all([text(stdout), text(stderr)]);
  const exitCode = await runCommandLine(args, { stdin: Readable.from([Buffer.from(input)]), stdout, stderr, env });
  stdout.end();
  stderr.end();
  const [out, err] = await written;
  return { exitCode, stdout: out, stderr: err };
}

/** The error line of a failed command. */
export function errorLine({ stderr }: CliOutcome): {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
} {
  const lines = stderr.trimEnd().split('\n');
  return JSON.parse(lines.at(-1) ?? '') as ReturnType<typeof errorLine>;
}
