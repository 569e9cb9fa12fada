import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';

import * as z from 'zod/v4';

import type { AgentResult } from '../../contracts/result';
import { TASK_OPTIONS } from '../../contracts/task-options';
import { RuntimeError } from '../../errors/runtime-error';
import { tryParseJson } from '../../util/json';
import { decodeUtf8, UsageError } from '../arguments';
import { command, FLAG, type OptionTable, TENANT, text } from '../command';
import { openRuntime } from '../environment';
import { flagsOf, optionOf } from '../operations/flags';
import { readFlags } from '../operations/read-flags';
import { printError, printJson, writeLine } from '../output';
import { terminal } from '../terminal';

/** The keys of a task's config, as options. */
const RUN_FLAGS = flagsOf(z.object(TASK_OPTIONS)).map((flag) => ({ ...flag, nullable: false }));

export const runCommand = command({
  words: 'run',
  usage: 'run --task FILE | --tenant TENANT --message TEXT [options]',
  help: `Run a task and print its result. FILE is the task's JSON, - is standard input; options make one of their own.
--events prints what happens on standard error, one JSON line each, and the answer piece by piece.
docs/configuration.md tells about each option.`,
  options: {
    task: text('FILE'),
    tenant: TENANT,
    events: FLAG,
    ...(Object.fromEntries(RUN_FLAGS.map((flag) => [flag.name, optionOf(flag)])) as OptionTable),
  },
  run,
});

type RunOptions = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;

async function run(options: RunOptions): Promise<number> {
  const task = await readTaskInput(options);
  const runtime = openRuntime();
  const cancel = new AbortController();
  const stop = (): void => cancel.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    const onEvent = options.events === true ? (event: unknown) => writeLine(terminal().stderr, event) : undefined;
    const result = await runtime.run(task, { signal: cancel.signal, onEvent, stream: options.events === true });
    printJson(result);
    return reportLedger(result);
  } catch (error) {
    // What was done and spent is printed also when the run failed; main prints the error.
    if (error instanceof RuntimeError && error.result !== undefined) printJson(error.result);
    throw error;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    await runtime.close();
  }
}

/** An answer whose bill could not be written is still an answer, but not a success. */
function reportLedger(result: AgentResult): number {
  const lost = result.warnings.find(({ code }) => code === 'LEDGER_WRITE_FAILED');
  if (lost === undefined) return 0;
  printError({ ...lost, hint: 'Restore the database, then book the usage that the message names by hand.' });
  return 1;
}

async function readTaskInput({ task, tenant, events: _events, ...options }: RunOptions): Promise<unknown> {
  const isOwn = tenant !== undefined || Object.keys(options).length > 0;
  if (typeof task === 'string') {
    if (isOwn) throw new UsageError('run takes --task or the options of a task, not both.');
    return parseTask(task === '-' ? await buffer(terminal().stdin) : readTaskFile(task));
  }
  if (tenant === undefined || (options.message ?? options.messages ?? options.approval) === undefined) {
    throw new UsageError('run needs --task FILE (or - for standard input), or --tenant TENANT and --message TEXT.');
  }
  const config = await readFlags({ words: 'run', flags: RUN_FLAGS, options, names: [] });
  return { config, meta: { tenant_id: tenant } };
}

function readTaskFile(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch {
    throw new UsageError(`The task file "${file}" cannot be read.`);
  }
}

/** Reads what the queue reads: UTF-8, with or without a byte order mark. */
function parseTask(bytes: Uint8Array): unknown {
  const json = decodeUtf8(bytes);
  if (json === undefined) throw new RuntimeError('INPUT_INVALID', { issues: 'the task is not UTF-8' });
  const parsed = tryParseJson(json);
  if (!parsed.ok) throw new RuntimeError('INPUT_INVALID', { issues: `the task is not valid JSON: ${parsed.reason}` });
  return parsed.value;
}
