// The figures as people read them: a table of ratios, then the bars.
const LIMIT = 'undici-loop';
const OURS = 'ours';

/** One row a subject; a ratio is to the loop on undici's own client. */
export function tableOf(measured) {
  const limit = measured[LIMIT];
  const header = 'subject|wall|ms|CPU|ms|in flight: runs/s|of limit|CPU|ms|more tools: wall|CPU|RSS MB|noise'.split(
    '|',
  );
  const rows = Object.entries(measured).map(([name, { one, many, fewTools, manyTools }]) => [
    name,
    ratio(one.wallMs, limit?.one.wallMs),
    one.wallMs.toFixed(2),
    ratio(one.cpuMs, limit?.one.cpuMs),
    one.cpuMs.toFixed(2),
    many.runsPerSecond.toFixed(0),
    ratio(many.runsPerSecond, limit?.many.runsPerSecond),
    ratio(many.cpuMs, limit?.many.cpuMs),
    many.cpuMs.toFixed(2),
    ratio(manyTools.wallMs, fewTools.wallMs),
    ratio(manyTools.cpuMs, fewTools.cpuMs),
    many.rssMb.toFixed(0),
    `±${(50 * one.wallSpread).toFixed(0)} %`,
  ]);
  return alignColumns([header, ...rows]);
}

/**
 * The same from the best round of each subject. Other work on the machine hurts the short runs most
 * and so draws the medians together; where noise is high, these ratios are nearer to the truth.
 */
export function quietTableOf(measured) {
  const limit = measured[LIMIT];
  const header = 'best round|wall|ms|CPU|ms|in flight: wall|ms|CPU|ms'.split('|');
  const rows = Object.entries(measured).map(([name, { one, many }]) => [
    name,
    ratio(one.bestWallMs, limit?.one.bestWallMs),
    one.bestWallMs.toFixed(2),
    ratio(one.bestCpuMs, limit?.one.bestCpuMs),
    one.bestCpuMs.toFixed(2),
    ratio(many.bestWallMs, limit?.many.bestWallMs),
    many.bestWallMs.toFixed(2),
    ratio(many.bestCpuMs, limit?.many.bestCpuMs),
    many.bestCpuMs.toFixed(2),
  ]);
  return alignColumns([header, ...rows]);
}

/** The bars of the design for our own runtime; a bar that another subject is part of needs that subject in the run. */
export function barsOf(measured) {
  const ours = measured[OURS];
  const limit = measured[LIMIT];
  if (ours === undefined || limit === undefined) return [];
  const bars = [
    atMost(2.5, 'x', { what: 'wall a run, to the undici loop', value: ours.one.wallMs / limit.one.wallMs }),
    atMost(3.0, 'x', { what: 'CPU a run, to the undici loop', value: ours.one.cpuMs / limit.one.cpuMs }),
    atLeast(0.4, 'x', {
      what: 'runs a second in flight, to the undici loop',
      value: ours.many.runsPerSecond / limit.many.runsPerSecond,
    }),
    atMost(1.2, ' ms', { what: 'CPU a run in flight', value: ours.many.cpuMs }),
    atMost(1.8, 'x', {
      what: 'growth from 10 to many tools, wall',
      value: ours.manyTools.wallMs / ours.fewTools.wallMs,
    }),
  ];
  const sdk = measured['openai-loop'];
  if (sdk === undefined) return bars;
  return [
    ...bars,
    atMost(1.0, 'x', { what: 'wall a run, to the openai loop', value: ours.one.wallMs / sdk.one.wallMs }),
  ];
}

export function barLineOf({ what, value, sign, bar, unit, missedBy }) {
  const verdict = missedBy === undefined ? 'met' : `missed by ${missedBy.toFixed(2)}${unit}`;
  return `${what}: ${value.toFixed(2)}${unit} (bar ${sign} ${bar}${unit}): ${verdict}`;
}

function atMost(bar, unit, { what, value }) {
  return { what, value, sign: '<=', bar, unit, ...(value > bar && { missedBy: value - bar }) };
}

function atLeast(bar, unit, { what, value }) {
  return { what, value, sign: '>=', bar, unit, ...(value < bar && { missedBy: bar - value }) };
}

/** A server without idle time would make every fast subject look equally fast. */
export function warningsOf(measured) {
  return Object.entries(measured)
    .filter(([, { many }]) => many.serverBusy > 0.9)
    .map(
      ([name, { many }]) =>
        `${name} in flight: the model server was ${(many.serverBusy * 100).toFixed(0)} % busy, so it set the limit`,
    );
}

const ratio = (value, base) => (base === undefined ? '-' : `${(value / base).toFixed(2)}x`);

function alignColumns(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const align = (cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]));
  return rows.map((row) => row.map(align).join('  ')).join('\n');
}
