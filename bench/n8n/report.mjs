// The figures of one engine as people read them: a table, then the bars.
const BRANCHES = 'five-branches';
const BARE = 'bare-loop';
const FLOOR = 'switch';
const OURS = ['one-node', 'one-node-item'];

/** Beside five branches the bars differ by engine: most of n8n's floor on its default one is the engine itself. */
const BESIDE_BRANCHES = { default: { cost: 0.5, rate: 2.2 }, legacy: { cost: 0.25 } };

export function tableOf(measured, { inFlight }) {
  const branches = measured[BRANCHES];
  const header = `subject|wall ms|noise|of five|CPU ms|noise|of five|${inFlight} in flight: /s|noise|of five|CPU ms`;
  const rows = Object.entries(measured).map(([subject, { one, many }]) => [
    subject,
    figure(one.wallMs),
    noise(one.wallSpread),
    ratio(one.wallMs, branches?.one.wallMs),
    figure(one.cpuMs),
    noise(one.cpuSpread),
    ratio(one.cpuMs, branches?.one.cpuMs),
    figure(many.perSecond),
    noise(many.perSecondSpread),
    ratio(many.perSecond, branches?.many.perSecond),
    figure(many.cpuMs),
  ]);
  return alignColumns([header.split('|'), ...rows]);
}

/** The bars of the design; a bar needs the subject that it compares with in the run. */
export function barsOf(measured, engine) {
  return OURS.filter((subject) => measured[subject] !== undefined).flatMap((subject) => [
    ...barsBesideBranches(measured, subject, BESIDE_BRANCHES[engine]),
    ...barsBesideBareLoop(measured, subject),
  ]);
}

function barsBesideBranches(measured, subject, { cost, rate }) {
  const [ours, branches] = [measured[subject], measured[BRANCHES]];
  if (branches === undefined) return [];
  const to = (what) => `${subject}: ${what}, to five branches`;
  return [
    atMost(cost, 'x', { what: to('latency'), value: ours.one.wallMs / branches.one.wallMs }),
    atMost(cost, 'x', { what: to('CPU'), value: ours.one.cpuMs / branches.one.cpuMs }),
    ...(rate === undefined
      ? []
      : [
          atLeast(rate, 'x', {
            what: to('executions a second in flight'),
            value: ours.many.perSecond / branches.many.perSecond,
          }),
        ]),
  ].filter(({ value }) => !Number.isNaN(value));
}

function barsBesideBareLoop(measured, subject) {
  const [ours, bare, floor] = [measured[subject], measured[BARE], measured[FLOOR]];
  return [
    ...(bare === undefined
      ? []
      : [
          atMost(1.15, 'x', {
            what: `${subject}: latency, to the bare loop`,
            value: ours.one.wallMs / bare.one.wallMs,
          }),
        ]),
    ...(floor?.one.cpuMs === undefined
      ? []
      : [
          atMost(6, ' ms', {
            what: `${subject}: CPU over the Switch floor`,
            value: ours.one.cpuMs - floor.one.cpuMs,
          }),
        ]),
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

const figure = (value) => value?.toFixed(1) ?? '-';
const noise = (spread) => (spread === undefined ? '-' : `±${(50 * spread).toFixed(0)} %`);
const ratio = (value, base) => (value === undefined || base === undefined ? '-' : `${(value / base).toFixed(2)}x`);

function alignColumns(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const align = (cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]));
  return rows.map((row) => row.map(align).join('  ')).join('\n');
}
