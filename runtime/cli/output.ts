import { styleText } from 'node:util';

import type { ErrorSummary } from '../errors/runtime-error';
import { escapeHidden } from '../util/text/escape-hidden';
import { UsageError } from './arguments';
import { renderValue } from './table';
import { type Terminal, terminal } from './terminal';

type Format = 'json' | 'table';

/** Format chosen with --json or --table, by terminal. Default: a table for people, JSON for programs. */
const chosen = new WeakMap<Terminal, Format>();
/** Terminals that --wide was given for. */
const wide = new WeakSet<Terminal>();

interface Choice {
  readonly json: boolean;
  readonly table: boolean;
  readonly wide?: boolean;
}

/** Throws a UsageError for --json and a table. */
export function chooseFormat({ json, table, wide: isWide = false }: Choice): void {
  const isTable = table || isWide;
  if (json && isTable) throw new UsageError(`Give --json or ${table ? '--table' : '--wide'}, not both.`);
  if (isWide) wide.add(terminal());
  if (json || isTable) chosen.set(terminal(), json ? 'json' : 'table');
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
  const { page, next } = pageOf(value);
  const isWide = wide.has(terminal());
  const { text, isCut } = renderValue(page, { width: stdout.isTTY === true ? stdout.columns : undefined, isWide });
  stdout.write(text);
  if (isCut) advise('Cut to the width of the terminal; --json shows everything.');
  if (next !== null) advise(`There is more: --after ${next}`);
}

/** A page of a list without the place where the next one begins, which is for programs. */
function pageOf(value: unknown): { readonly page: unknown; readonly next: string | null } {
  if (typeof value !== 'object' || value === null || !('next' in value)) return { page: value, next: null };
  const { next, ...page } = value;
  return { page, next: typeof next === 'string' ? next : null };
}

function advise(text: string): void {
  terminal().stderr.write(`${styleText('dim', escapeHidden(text))}\n`);
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
