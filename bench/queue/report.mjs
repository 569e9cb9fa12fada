// The figures as people read them: a table, then the bars.
import { medianOf } from '../loop/statistics.mjs';

const BARS = [
  { latency: 0, least: 0.7 },
  { latency: 200, least: 0.95 },
];
const START_BAR_MS = 20;
const GROWTH_BAR = 1.1;

export function batchLines(measured) {
  const header = 'model|at a time|tool|ours /s|bare /s|ratio|ours CPU ms|bare CPU ms|noise|server busy|bar'.split('|');
  return alignColumns([header, ...measured.map(rowOf)]);
}

function rowOf({ latency, concurrency, withTool, ours, bare, ratio }) {
  return [
    `${latency} ms`,
    String(concurrency),
    withTool ? 'one' : 'none',
    ours.perSecond.toFixed(1),
    bare.perSecond.toFixed(1),
    `${ratio.toFixed(2)}x`,
    ours.cpuMs.toFixed(2),
    bare.cpuMs.toFixed(2),
    `±${(50 * ours.spread).toFixed(0)}/${(50 * bare.spread).toFixed(0)} %`,
    `${(100 * bare.modelBusy).toFixed(0)} %`,
    withTool ? '-' : verdictOf(ratio, BARS.find((bar) => bar.latency === latency)?.least),
  ];
}

const verdictOf = (ratio, least) => {
  if (least === undefined) return '-';
  return ratio >= least ? `>= ${least}x met` : `>= ${least}x MISSED`;
};

export const startLine = (subject, { median, p95, most }) =>
  `  ${subject}: median ${median.toFixed(1)} ms, 95 % within ${p95.toFixed(1)} ms, at most ${most.toFixed(1)} ms` +
  (subject === 'ours' ? `; bar ${START_BAR_MS} ms: ${median <= START_BAR_MS ? 'met' : 'MISSED'}` : '');

/** Flat: the last third not above the first by more than a tenth. */
export function memoryLines(samples, tasks) {
  const megabytes = (bytes) => (bytes / 1024 / 1024).toFixed(1);
  const lines = samples.map(
    ({ rss, heapUsed }, index) =>
      `  ${String((index + 1) * tasks).padStart(6)} tasks: RSS ${megabytes(rss)} MB, heap ${megabytes(heapUsed)} MB`,
  );
  const third = Math.max(1, Math.floor(samples.length / 3));
  const verdicts = ['rss', 'heapUsed'].map((key) => {
    const values = samples.map((sample) => sample[key]);
    const growth = medianOf(values.slice(-third)) / medianOf(values.slice(0, third));
    const slope = (1024 * slopeOf(values)) / tasks / 1024 / 1024;
    const verdict = growth <= GROWTH_BAR ? 'met' : 'MISSED';
    return `  ${key}: last third ${growth.toFixed(2)}x the first, ${slope.toFixed(2)} kB a task; bar ${GROWTH_BAR}x: ${verdict}`;
  });
  return [...lines, ...verdicts].join('\n');
}

/** Least squares: what a step adds. */
function slopeOf(values) {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const above = values.reduce((sum, value, index) => sum + (index - middle) * (value - mean), 0);
  return above / values.reduce((sum, _value, index) => sum + (index - middle) ** 2, 0);
}

function alignColumns(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) => row.map((cell, column) => cell.padStart(widths[column])).join('  ')).join('\n');
}
