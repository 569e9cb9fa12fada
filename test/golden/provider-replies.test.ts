import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { createUsageMeter } from '../../runtime/billing/usage-meter';
import type { Usage } from '../../runtime/contracts/usage';
import { normalizeReply } from '../../runtime/models/normalize-reply';

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
/** Those whose caches have no price of their own. */
const plain = recorded.filter(([, { price }]) => price.cachedInput === undefined);

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
  'what %s costs follows from the parts that were read',
  (_name, { reply, price, expect: expected }) => {
    const { usage } = normalizeReply(reply);
    expect(millionths(usage as Usage, price)).toBeCloseTo(Number(expected.cost) * 1e6, 6);
  },
);

it.each(plain)(
  'what %s costs is billed, and a figure that differs is told',
  (_name, { reply, price, expect: expected }) => {
    const modelId = 'asked/model';
    const prices = [{ modelId, inputPer1M: price.input, outputPer1M: price.output }];
    const meter = createUsageMeter({ modelId, prices });
    meter.add({ callNo: 1, attempts: { sent: 1, answered: 1 }, reply: normalizeReply(reply) });
    expect(Number(meter.totals().costUsd)).toBe(Number(expected.cost));
    expect(meter.warnings().map(({ code }) => code)).toEqual(expected.warnings);
  },
);

/** The parts of a prompt do not overlap: what is in none of them has the full price. */
function millionths(usage: Usage, price: Recorded['price']): number {
  const { cachedTokens: cached, cacheWriteTokens: written, cacheWrite1hTokens: writtenFor1h } = usage;
  const { input, cachedInput = input, cacheWrite = input, cacheWrite1h = cacheWrite } = price;
  return (
    (usage.promptTokens - cached - written - writtenFor1h) * Number(input) +
    cached * Number(cachedInput) +
    written * Number(cacheWrite) +
    writtenFor1h * Number(cacheWrite1h) +
    usage.completionTokens * Number(price.output)
  );
}
