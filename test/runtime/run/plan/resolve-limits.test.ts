import { resolveLimits } from '../../../../runtime/run/plan/resolve-limits';

const tier = { code: 'pro', name: 'Pro', modelId: 'x/y', maxTokens: 2000, temperature: 0.5 };
const defaults = { maxIterations: 10, iterationCeiling: 50, modelSilenceSeconds: 120 } as const;
interface Case {
  readonly config?: object;
  readonly settings?: object;
  readonly expected: number;
}
const resolve = (config: object = {}, settings: object = {}) =>
  resolveLimits({ config: { message: 'Hi', ...config } as never, settings, tier, defaults });

it.each([
  ['nothing', { expected: 10 }],
  ['the tenant', { settings: { maxIterations: 5 }, expected: 5 }],
  ['the task', { config: { max_iterations: 3 }, expected: 3 }],
  ['the task below the tenant', { config: { max_iterations: 3 }, settings: { maxIterations: 5 }, expected: 3 }],
  ['the tenant above the default', { settings: { maxIterations: 20 }, expected: 20 }],
  ['the tenant above the ceiling', { settings: { maxIterations: 500 }, expected: 50 }],
])('%s decides the iterations', (_who, { config, settings, expected }: Case) => {
  expect(resolve(config, settings)).toMatchObject({ limits: { maxIterations: expected }, warnings: [] });
});

it.each([
  ["the tenant's limit", { config: { max_iterations: 30 }, settings: { maxIterations: 5 }, expected: 5 }],
  ['the hard ceiling', { config: { max_iterations: 51 }, expected: 50 }],
  [
    'the ceiling over a higher limit',
    { config: { max_iterations: 99 }, settings: { maxIterations: 80 }, expected: 50 },
  ],
])('%s always wins, and says so', (_who, { config, settings, expected }: Case) => {
  const { limits, warnings } = resolve(config, settings);
  expect(limits.maxIterations).toBe(expected);
  expect(warnings).toMatchObject([{ code: 'ITERATIONS_CLAMPED' }]);
});

it('takes temperature and tokens from the task, else from the tier', () => {
  expect(resolve().limits).toMatchObject({ temperature: 0.5, maxTokens: 2000 });
  expect(resolve({ temperature: 0, max_tokens: 7 }).limits).toMatchObject({ temperature: 0, maxTokens: 7 });
});

it('takes the longest silence of the model from the task, else the tenant, else the tier, else the default', () => {
  const silence = (config: object, settings: object, ofTier: object) =>
    resolveLimits({
      config: { message: 'Hi', ...config } as never,
      settings,
      tier: { ...tier, ...ofTier },
      defaults,
    }).limits.modelSilenceMs;
  const [task, tenant, ofTier] = [
    { model_silence_seconds: 0.5 },
    { modelSilenceSeconds: 7 },
    { modelSilenceSeconds: 9 },
  ];
  expect(silence(task, tenant, ofTier)).toBe(500);
  expect(silence({}, tenant, ofTier)).toBe(7000);
  expect(silence({}, {}, ofTier)).toBe(9000);
  expect(silence({}, {}, {})).toBe(120_000);
});
