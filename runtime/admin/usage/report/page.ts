import type { AgentUse, ModelHealth, ToolUse } from '../../../storage/sql/admin/report-usage';
import { type Bar, barChart, dayChart } from './bar-chart';
import { Html, html } from './html';

/** Everything that the report shows. Costs are decimal text of the database, never added up here. */
export interface UsageFigures {
  readonly heading: { readonly title: string; readonly period: string };
  readonly total: {
    readonly cost_usd: string;
    readonly saved_usd: string;
    readonly tokens: string;
    readonly runs: number;
  };
  readonly days: readonly Bar[];
  readonly tenants: readonly Bar[];
  readonly models: readonly Bar[];
  readonly tiers: readonly Bar[];
  readonly tables: {
    readonly agents: readonly AgentUse[];
    readonly models: readonly ModelHealth[];
    readonly tools: readonly ToolUse[];
  };
  readonly uncertain: {
    /** Cost of tokens that were counted from the texts. */
    readonly estimated: Sum;
    /** Cost as the provider reports it. */
    readonly ofProvider: Sum;
    readonly unknownCalls: number;
  };
}

/** Model calls and what they have cost, as decimal text. */
export interface Sum {
  readonly calls: number;
  readonly costUsd: string;
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1d1d2b; --soft: #5b5b70; --paper: #fff; --bar: #6c63ff; --line: #d9d9e3; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececf4; --soft: #a5a5b8; --paper: #17171f; --bar: #9a94ff; --line: #3a3a4a; } }
@media print { :root { --ink: #000; --soft: #333; --paper: #fff; --bar: #555; --line: #999; } section { break-inside: avoid; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 760px; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; } p.period { color: var(--soft); margin-top: 0; }
dl.total { display: flex; flex-wrap: wrap; gap: 2rem; } dl.total dt { color: var(--soft); } dl.total dd { font-size: 1.4rem; margin: 0; }
svg { height: auto; max-width: 100%; } svg rect { fill: var(--bar); } svg line { stroke: var(--line); }
svg text { fill: var(--ink); font-size: 12px; dominant-baseline: middle; } svg text.label { fill: var(--soft); }
table { border-collapse: collapse; width: 100%; } th, td { border-bottom: 1px solid var(--line); padding: 0.25rem 0.5rem; text-align: right; }
th:first-child, td:first-child { text-align: left; } td { overflow-wrap: anywhere; } details summary { color: var(--soft); cursor: pointer; }
`;

/** One page that asks for nothing outside itself. */
export function reportPage(figures: UsageFigures): string {
  const { heading, total, tables } = figures;
  const { title, period } = heading;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <style>
          ${new Html(STYLE)}
        </style>
      </head>
      <body>
        <h1>${title}</h1>
        <p class="period">${period}</p>
        <dl class="total">
          ${fact('Cost', `$${total.cost_usd}`)}${fact('Saved by caches', `$${total.saved_usd}`)}${fact('Tokens', total.tokens)}${fact('Runs', total.runs)}
        </dl>
        ${chapter('Cost by day', dayChart('Cost by day in US dollars', figures.days), figures.days)}
        ${chapter('Cost by tenant', barChart('Cost by tenant in US dollars', figures.tenants), figures.tenants)}
        ${chapter('Cost by model', barChart('Cost by model in US dollars', figures.models), figures.models)}
        ${chapter('Cost by tier', barChart('Cost by tier in US dollars', figures.tiers), figures.tiers)}
        <section>
          <h2>Agents</h2>
          ${table(
            ['agent', 'runs', 'model calls', 'tokens', 'US dollars'],
            tables.agents.map((row) => [row.agent, row.runs, row.calls, row.tokens, row.cost_usd]),
          )}
        </section>
        <section>
          <h2>Models</h2>
          ${table(
            ['model', 'calls', 'failed', 'median ms', '95 % within ms'],
            tables.models.map((row) => [row.model, row.calls, row.failed, row.median_ms, row.p95_ms]),
          )}
        </section>
        <section>
          <h2>Tools</h2>
          ${table(
            ['tool', 'calls', 'failed', 'median ms'],
            tables.tools.map((row) => [row.tool, row.calls, row.failed, row.median_ms]),
          )}
        </section>
        ${uncertainty(figures.uncertain)}
      </body>
    </html> `.text;
}

function uncertainty({ estimated, ofProvider, unknownCalls }: UsageFigures['uncertain']): Html {
  return html`<section>
    <h2>Estimated and unknown</h2>
    <p>
      Of the cost above, $${estimated.costUsd} of ${estimated.calls} call(s) is estimated from the texts, since the
      provider reported no tokens, and $${ofProvider.costUsd} of ${ofProvider.calls} call(s) is the provider's own
      figure, since its tokens could not be relied upon. The usage of ${unknownCalls} call(s) is unknown and in no sum.
    </p>
  </section>`;
}

function fact(name: string, value: string | number): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd>${value}</dd>
  </div>`;
}

function chapter(name: string, chart: Html, bars: readonly Bar[]): Html {
  if (bars.length === 0)
    return html`<section>
      <h2>${name}</h2>
      <p>Nothing was billed.</p>
    </section>`;
  const figures = table(
    ['', 'US dollars'],
    bars.map(({ label, value }) => [label, value]),
  );
  return html`<section>
    <h2>${name}</h2>
    ${chart}
    <details>
      <summary>Figures</summary>
      ${figures}
    </details>
  </section>`;
}

function table(heads: readonly string[], rows: readonly (readonly (string | number | null)[])[]): Html {
  if (rows.length === 0) return html`<p>There were none.</p>`;
  const head = heads.map((name) => html`<th>${name}</th>`);
  const body = rows.map(
    (row) =>
      html`<tr>
        ${row.map((cell) => html`<td>${cell ?? '–'}</td>`)}
      </tr> `,
  );
  return html`<table>
    <thead>
      <tr>
        ${head}
      </tr>
    </thead>
    <tbody>
      ${body}
    </tbody>
  </table>`;
}
