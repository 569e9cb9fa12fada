import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { createRuntime } from '../../runtime';
import { openEditor } from '../../scripts/lib/editor.mjs';
import { createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { connect } from './support/host';

const PICTURES = path.resolve(__dirname, '../..', '.cache/screenshots');

let database: TestDatabase;

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  database = await createMigratedDatabase();
});
afterAll(() => database.close());

async function line(tenantId: string, more: readonly [string, string, string, number, string]): Promise<void> {
  await database.query(
    `INSERT INTO elo_t_token_usage (tenant_id, task_id, model_id, agent_tier, prompt_tokens, completion_tokens, total_tokens, cost_usd, created_at)
     VALUES ($1, $2, $3, $4, 10, 5, 15, $5, $6::timestamptz)`,
    [tenantId, ...more],
  );
}

it("shows the figures of a ledger worked by hand, asks for nothing, and takes no tenant's name for HTML", async () => {
  const runtime = createRuntime({ database: { url: database.url }, model: {} });
  const { tenant, usage } = runtime.admin;
  const { id: one } = await tenant.create({ name: 'Acme' });
  const { id: other } = await tenant.create({ name: '<script>alert(1)</script>' });
  await line(one, ['t1', 'a/large', 'pro', 0.25, '2026-03-01T10:00:00Z']);
  await line(one, ['t2', 'a/large', 'pro', 0.5, '2026-03-02T10:00:00Z']);
  await line(other, ['t3', 'b/small', 'nano', 0.25, '2026-03-02T11:00:00Z']);
  const { text } = await usage.report({ from: '2026-03-01', until: '2026-04-01' });
  await runtime.close();

  const editor = await openEditor({ host: await connect() });
  const { page } = editor;
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.setContent(text);
  // As text, since it runs in the page.
  const charts = await page.evaluate<readonly (readonly [string, readonly (readonly [string, number])[]])[]>(
    `[...document.querySelectorAll('svg')].map((svg) => [
      svg.getAttribute('aria-label'),
      [...svg.querySelectorAll('rect')].map((bar) => [bar.textContent, Math.round(Number(bar.getAttribute('width')))]),
    ])`,
  );
  const [days, tenants, models, tiers] = charts;
  expect(days).toEqual([
    'Cost by day in US dollars',
    [
      ['2026-03-01: 0.25000000', expect.any(Number)],
      ['2026-03-02: 0.75000000', expect.any(Number)],
    ],
  ]);
  expect(tenants).toEqual([
    'Cost by tenant in US dollars',
    [
      ['Acme: 0.75000000', 380],
      ['<script>alert(1)</script>: 0.25000000', 127],
    ],
  ]);
  expect(models?.[1]).toEqual([
    ['a/large: 0.75000000', 380],
    ['b/small: 0.25000000', 127],
  ]);
  expect(tiers?.[1]).toEqual([
    ['pro: 0.75000000', 380],
    ['nano: 0.25000000', 127],
  ]);
  expect(await page.locator('dl').innerText()).toContain('$1.00000000');
  expect(await page.locator('script').count()).toBe(0);
  expect(asked).toEqual([]);
  const colours: unknown[] = [];
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    colours.push(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
    await editor.screenshot(path.join(PICTURES, `usage-${scheme}.png`));
  }
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  colours.push(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
  await editor.screenshot(path.join(PICTURES, 'usage-print.png'));
  expect(colours).toEqual(['rgb(255, 255, 255)', 'rgb(23, 23, 31)', 'rgb(255, 255, 255)']);
  await editor.close();
});
