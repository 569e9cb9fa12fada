import { styleText } from 'node:util';

import type { ErrorSummary } from '../errors/runtime-error';
import { escapeHidden } from '../util/text/escape-hidden';
import { UsageError } from './arguments';
import { renderValue } from './table';
import { type Terminal, terminal } from './terminal';

type Format = 'json' | 'table';

/** Format chosen with --json or --table, by terminal. Default: a table for people, JSON for programs. */
const chosen = new WeakMap<Terminal, Format>();

/** Throws a UsageError for both. */
export function chooseFormat({ json, table }: { readonly json: boolean; readonly table: boolean }): void {
  if (json && table) throw new UsageError('Give --json or --table, not both.');
  if (json || table) chosen.set(terminal(), json ? 'json' : 'table');
}

const formatFor = ({ isTTY }: Terminal['stdout']): Format =>
  chosen.get(terminal()) ?? (isTTY === true ? 'table' : 'json');

/** The answer of a command, on standard output: JSON for programs, tables for people. */
export function printJson(value: unknown): void {
  const { stdout } = terminal();
  if (formatFor(stdout) === 'json') {
    stdout.write(`${escapeHidden(JSON.stringify(value, null, 2))}\n`);
    return;
  }
  const { text, isCut } = renderValue(value, stdout.isTTY === true ? stdout.columns : undefined);
  stdout.write(text);
  if (isCut)
    terminal().stderr.write(`${styleText('dim', 'Cut to the width of the terminal; --json shows everything.')}\n`);
}

/** One line of JSON, for what is told while a command runs. */
export function writeLine(stream: Terminal['stdout'], value: unknown): void {
  stream.write(`${escapeHidden(JSON.stringify(value))}\n`);
}

/** An error on standard error: one JSON line for programs, a sentence for people. */
export function printError(error: ErrorSummary): void {
  const { code, message, hint } = error;
  const { stderr } = terminal();
  const isJson = stderr.isTTY !== true || chosen.get(terminal()) === 'json';
  if (isJson) writeLine(stderr, { code, message, hint });
  else stderr.write(sentence(error));
}

function sentence({ code, message, hint }: ErrorSummary): string {
  const style = { stream: terminal().stderr };
  const lines = [`${styleText(['bold', 'red'], code, style)}  ${escapeHidden(message)}`];
  if (hint !== '') lines.push(styleText('dim', escapeHidden(hint), style));
  return `${lines.join('\n')}\n`;
}
