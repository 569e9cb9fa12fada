import { resolveLimits } from '../../../runtime/tenants/resolve-settings';

const tier = { code: 'pro', name: 'Pro', modelId: 'x/y', maxTokens: 2000, temperature: 0.5 };
const defaults = { maxIterations: 10, iterationCeiling: 50 };
const resolve = (config: object = {}, settings: object = {}) =>
  resolveLimits({ config: { message: 'Hi', ...config } as never, settings, tier, defaults });

it.each([
  ['nothing', {}, {}, 10],
  ['the tenant', {}, { maxIterations: 5 }, 5],
  ['the task', { max_iterations: 3 }, {}, 3],
  ['the task below the tenant', { max_iterations: 3 }, { maxIterations: 5 }, 3],
  ['the tenant above the default', {}, { maxIterations: 20 }, 20],
  ['the tenant above the ceiling', {}, { maxIterations: 500 }, 50],
])('%s decides the iterations', (_who, config, settings, expected) => {
  expect(resolve(config, settings)).toMatchObject({ limits: { maxIterations: expected }, warnings: [] });
});

it.each([
  ["the tenant's limit", { max_iterations: 30 }, { maxIterations: 5 }, 5],
  ['the hard ceiling', { max_iterations: 51 }, {}, 50],
  ['the hard ceiling, also above a higher tenant limit', { max_iterations: 100 }, { maxIterations: 80 }, 50],
])('%s always wins, and says so', (_who, config, settings, expected) => {
  const { limits, warnings } = resolve(config, settings);
  expect(limits.maxIterations).toBe(expected);
  expect(warnings).toMatchObject([{ code: 'ITERATIONS_CLAMPED' }]);
});

it('takes temperature and tokens from the task, else from the tier', () => {
  expect(resolve().limits).toMatchObject({ temperature: 0.5, maxTokens: 2000 });
  expect(resolve({ temperature: 0, max_tokens: 7 }).limits).toMatchObject({ temperature: 0, maxTokens: 7 });
});
