import { estimateUsage } from '../../../runtime/billing/estimate-usage';
import type { Usage } from '../../../runtime/contracts/ledger/usage';
import type { ModelReply } from '../../../runtime/contracts/model';

const asked = { messages: [{ role: 'user' as const, content: 'How are you?' }], tools: [] };
const reply = (usage: object | null): ModelReply => ({
  message: { role: 'assistant', content: 'Fine, thank you.' },
  finishReason: 'stop',
  usage: usage as Usage,
});
const whole = {
  promptTokens: 10,
  completionTokens: 5,
  cachedTokens: 1,
  cacheWriteTokens: 2,
  cacheWrite1hTokens: 3,
  reasoningTokens: 4,
};
const readUsage = async (usage: object | null) => (await estimateUsage([reply(usage)], asked))[0];

it('keeps a usage that is whole', async () => {
  const given = reply(whole);
  expect((await estimateUsage([given], asked))[0]).toBe(given);
});

it.each([
  ['left out', { promptTokens: 10, completionTokens: 5 }],
  ['not counts', { ...whole, cachedTokens: NaN, cacheWriteTokens: -1, cacheWrite1hTokens: '3', reasoningTokens: null }],
])('takes zero for details that are %s', async (_what, usage) => {
  const zeros = { cachedTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0, reasoningTokens: 0 };
  expect((await readUsage(usage))?.usage).toEqual({ promptTokens: 10, completionTokens: 5, ...zeros });
});

it.each([
  { promptTokens: 10 },
  { ...whole, completionTokens: NaN },
  { ...whole, promptTokens: -1 },
  { ...whole, promptTokens: 1.5 },
  { ...whole, promptTokens: '10' },
  {},
  null,
])('estimates a usage without tokens of prompt and reply: %j', async (usage) => {
  const read = await readUsage(usage);
  expect(read).toMatchObject({ isEstimated: true, usage: { cachedTokens: 0 } });
  expect(read?.usage?.promptTokens).toBeGreaterThan(3);
  expect(read?.usage?.completionTokens).toBeGreaterThan(2);
});
