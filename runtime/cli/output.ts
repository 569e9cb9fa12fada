import { styleText } from 'node:util';

import type { ErrorSummary } from '../errors/runtime-error';
import { escapeHidden } from '../util/text/escape-hidden';
import { UsageError } from './arguments';
import { renderValue } from './table';

type Format = 'json' | 'table';

/** What was asked for, for all that this process prints. Without it, people get tables and programs JSON. */
let chosen: Format | undefined;

/** Throws a UsageError for both. */
export function chooseFormat({ json, table }: { readonly json: boolean; readonly table: boolean }): void {
  if (json && table) throw new UsageError('Give --json or --table, not both.');
  chosen = json ? 'json' : table ? 'table' : undefined;
}

const formatFor = ({ isTTY }: NodeJS.WriteStream): Format => chosen ?? (isTTY ? 'table' : 'json');

/** The answer of a command, on standard output: JSON for programs, tables for people. */
export function printJson(value: unknown): void {
  const { stdout } = process;
  if (formatFor(stdout) === 'json') {
    stdout.write(`${JSON.stringify(value, null, 2)}\n`);
    return;
  }
  const { text, isCut } = renderValue(value, stdout.isTTY ? stdout.columns : undefined);
  stdout.write(text);
  if (isCut)
    process.stderr.write(`${styleText('dim', 'Cut to the width of the terminal; --json shows everything.')}\n`);
}

/** An error on standard error: one JSON line for programs, a sentence for people. */
export function printError(error: ErrorSummary): void {
  const { code, message, hint } = error;
  const { stderr } = process;
  const isJson = !stderr.isTTY || chosen === 'json';
  stderr.write(isJson ? `${escapeHidden(JSON.stringify({ code, message, hint }))}\n` : sentence(error));
}

function sentence({ code, message, hint }: ErrorSummary): string {
  const style = { stream: process.stderr };
  const lines = [`${styleText(['bold', 'red'], code, style)}  ${escapeHidden(message)}`];
  if (hint !== '') lines.push(styleText('dim', escapeHidden(hint), style));
  return `${lines.join('\n')}\n`;
}
