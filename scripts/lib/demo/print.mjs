import { styleText } from 'node:util';

import Big from 'big.js';

/**
 * A line with the seconds since the start, the installation before it included.
 * @param {string} line
 */
export function log(line) {
  const seconds = String(Math.round((Date.now() - startedAt) / 1000)).padStart(3);
  process.stdout.write(`${styleText('dim', `[${seconds} s]`)} ${line}\n`);
}

const startedAt = Number(process.env.STARTED_AT ?? Date.now());

/**
 * @param {readonly string[]} titles
 * @param {readonly (readonly string[])[]} rows figures stand to the right
 */
export function printTable(titles, rows) {
  const widths = titles.map((title, index) => Math.max(title.length, ...rows.map((row) => row[index].length)));
  const line = (cells) => {
    const padded = cells.map((cell, index) =>
      /^\$?[\d.]+$/.test(rows[0][index]) ? cell.padStart(widths[index]) : cell.padEnd(widths[index]),
    );
    return `  ${padded.join('  ').trimEnd()}\n`;
  };
  process.stdout.write(`\n${styleText('bold', line(titles))}${rows.map(line).join('')}\n`);
}

/** An act: what is done, and what comes of it. */
export function printAct(what, outcome) {
  log(`${styleText('bold', what)} ${styleText('green', '→')} ${outcome}`);
}

/**
 * The exact sum.
 * @param {readonly string[]} amounts such as `0.00039150`
 */
export function sumUsd(amounts) {
  return amounts.reduce((sum, amount) => sum.plus(amount), new Big(0)).toFixed(8);
}
