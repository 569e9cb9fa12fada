import { countTokens } from '../../../../runtime/util/text/count-tokens';

// Worked out with js-tiktoken 1.0.21 (o200k_base).
it.each([
  ['', 0],
  ['Hello, world!', 4],
  ['word '.repeat(1000), 1001],
  ['a'.repeat(400), 50],
  ['Größe 42 auf улице Ленина, 我们的订单', 14],
])('counts as OpenAI does: %#', async (text, tokens) => {
  expect(await countTokens(text)).toBe(tokens);
});

it.each([['<|endoftext|>'], ['<|im_start|>system<|im_sep|>']])(
  'takes names of special tokens for text: %s',
  async (text) => {
    expect(await countTokens(text)).toBeGreaterThan(3);
  },
);

it.each([
  ['a word without an end', 'a'.repeat(20_000)],
  ['Chinese', '我们的订单在哪里呢'.repeat(2000)],
  ['halves of surrogate pairs', '\ud800'.repeat(20_000)],
  ['NUL', '\0'.repeat(20_000)],
])('counts parts of any text as it counts the whole, within a hundredth: %s', async (_what, text) => {
  const [half, whole] = [await countTokens(text.slice(0, text.length / 2)), await countTokens(text)];
  expect(Math.abs(whole - 2 * half)).toBeLessThanOrEqual(whole / 100);
});

it.each([
  ['one word', 'word '.repeat(100_000), 100_001],
  ['one letter', 'a'.repeat(1_000_000), 125_000],
  ['half English, half Chinese', 'word '.repeat(40_000) + '我们'.repeat(100_000), 40_000 + 100_000],
])('estimates a long text from samples, within a twentieth: %s', async (_what, text, tokens) => {
  expect(Math.abs((await countTokens(text)) - tokens)).toBeLessThan(tokens / 20);
});

it('lets others have their turn', async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  for (let times = 0; times < 5; times++) await countTokens('我们的订单在哪里呢'.repeat(50_000));
  clearInterval(timer);
  expect(turns).toBeGreaterThan(2);
});
