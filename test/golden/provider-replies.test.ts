import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { createUsageMeter } from '../../runtime/billing/usage-meter';
import type { Usage } from '../../runtime/contracts/ledger/usage';
import { normalizeReply } from '../../runtime/models/openai/normalize-reply';

/** A reply as its provider documents or sends it, and what it costs by the provider's own rule, worked by hand. */
interface Recorded {
  readonly provider: string;
  readonly source: string;
  readonly rule: string;
  readonly reply: object;
  /** US dollars for a million tokens. */
  readonly price: {
    readonly input: string;
    readonly output: string;
    readonly cachedInput?: string;
    readonly cacheWrite?: string;
    readonly cacheWrite1h?: string;
  };
  readonly expect: {
    readonly usage: Usage;
    readonly working: string;
    readonly cost: string;
    /** The provider's own figure. */
    readonly reported?: string;
    readonly warnings: readonly string[];
  };
}

const folder = join(__dirname, 'provider-replies');
const recorded = readdirSync(folder).map((file): [string, Recorded] => [
  file.replace('.json', ''),
  JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recorded,
]);

it('there are replies of at least ten providers, each with its source', () => {
  expect(new Set(recorded.map(([, { provider }]) => provider)).size).toBeGreaterThan(10);
  for (const [, { source, rule }] of recorded) {
    expect(source).toMatch(/^https:/);
    expect(rule).not.toBe('');
  }
});

it.each(recorded)('the usage of %s is read by its own rule', (_name, { reply, expect: expected }) => {
  const { usage, providerCostUsd } = normalizeReply(reply);
  expect(usage).toEqual(expected.usage);
  expect(providerCostUsd).toBe(expected.reported);
});

it.each(recorded)(
  'what %s costs is billed, and a figure that differs is told',
  (_name, { reply, price, expect: expected }) => {
    const modelId = 'asked/model';
    const { input: inputPer1M, output: outputPer1M, cachedInput, cacheWrite, cacheWrite1h } = price;
    const caches = { cachedInputPer1M: cachedInput, cacheWritePer1M: cacheWrite, cacheWrite1hPer1M: cacheWrite1h };
    const meter = createUsageMeter({ modelId, prices: [{ modelId, inputPer1M, outputPer1M, ...caches }] });
    const record = meter.add({ step: 1, attempts: { sent: 1, answered: 1 }, reply: normalizeReply(reply) });
    expect(record?.costUsd).toBe(expected.cost);
    expect(meter.warnings().map(({ code }) => code)).toEqual(expected.warnings);
  },
);
