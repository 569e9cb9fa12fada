import { scaleBand, scaleLinear } from 'd3-scale';

import { Html, html } from './html';

export interface Bar {
  readonly label: string;
  /** Decimal text; for the length of the bar only, so a float will do. */
  readonly value: string;
}

const WIDTH = 720;
const ROW = 26;
const LABELS = 230;
const VALUES = 110;

/** Bars from left to right, one below the other: names are long. */
export function barChart(title: string, bars: readonly Bar[]): Html {
  const height = Math.max(1, bars.length) * ROW;
  const values = bars.map(({ value }) => Number(value));
  const x = scaleLinear([0, Math.max(...values, Number.MIN_VALUE)], [0, WIDTH - LABELS - VALUES]);
  const y = scaleBand(
    bars.map((_, index) => index),
    [0, height],
  ).paddingInner(0.25);
  const rows = bars.map(({ label, value }, index) => {
    const top = y(index) ?? 0;
    const middle = top + y.bandwidth() / 2;
    const length = Math.max(1, x(Number(value)));
    return html`<text x="${LABELS - 8}" y="${middle}" class="label" text-anchor="end">${short(label)}</text>
      <rect x="${LABELS}" y="${top}" width="${length.toFixed(1)}" height="${y.bandwidth()}" rx="2"
        ><title>${label}: ${value}</title></rect
      >
      <text x="${LABELS + length + 6}" y="${middle}" class="value">${value}</text>`;
  });
  return html`<svg
    role="img"
    aria-label="${title}"
    viewBox="0 0 ${WIDTH} ${height}"
    width="${WIDTH}"
    height="${height}"
  >
    ${rows}
  </svg>`;
}

/** Columns over the days, of which there may be many. */
export function dayChart(title: string, days: readonly Bar[]): Html {
  const height = 160;
  const base = height - 22;
  const values = days.map(({ value }) => Number(value));
  const x = scaleBand(
    days.map(({ label }) => label),
    [0, WIDTH],
  ).padding(0.2);
  const y = scaleLinear([0, Math.max(...values, Number.MIN_VALUE)], [0, base - 14]);
  const every = Math.ceil(days.length / 8);
  const columns = days.map(({ label, value }, index) => {
    const left = x(label) ?? 0;
    const tall = y(Number(value));
    const name = index % every === 0 ? html`<text x="${left}" y="${height - 8}" class="label">${label}</text>` : '';
    return html`<rect
        x="${left.toFixed(1)}"
        y="${(base - tall).toFixed(1)}"
        width="${x.bandwidth().toFixed(1)}"
        height="${tall.toFixed(1)}"
        ><title>${label}: ${value}</title></rect
      >${name}`;
  });
  return html`<svg
    role="img"
    aria-label="${title}"
    viewBox="0 0 ${WIDTH} ${height}"
    width="${WIDTH}"
    height="${height}"
  >
    ${columns}
    <line x1="0" x2="${WIDTH}" y1="${base}" y2="${base}" />
  </svg>`;
}

const SHOWN = 34;

function short(label: string): string {
  return label.length > SHOWN ? `${label.slice(0, SHOWN - 1)}…` : label;
}
