import { stripVTControlCharacters } from 'node:util';

import { briefRows } from '../../../runtime/cli/brief';
import { renderValue } from '../../../runtime/cli/table';

const MONTH = {
  month: '2026-11',
  model_id: 'anthropic/claude-3.5-sonnet',
  agent_tier: 'expert',
  request_count: 12,
  total_prompt_tokens: '120000',
  total_completion_tokens: '9000',
  total_tokens: '129000',
  total_cached_tokens: '0',
  total_cache_written_tokens: '0',
  total_reasoning_tokens: '0',
  total_cost_usd: '0.49500000',
  total_saved_usd: '0.00000000',
};
const RUN = {
  tenant_id: 'a',
  task_id: 'agent_123',
  run_id: 'b',
  state: 'done',
  status: 'completed',
  agent_tier: 'pro',
  model_used: 'openai/gpt-4o-mini',
  cost_usd: '0.1',
  created_at: '2026-11-27T01:05:18.123Z',
};

const shown = (value: object, width = 80): string =>
  stripVTControlCharacters(renderValue(value, { width }).text).trimEnd();

it('shows a bill of two models within 80 columns, with its sum', () => {
  const other = { ...MONTH, model_id: 'openai/gpt-4o-mini', agent_tier: 'pro', total_cost_usd: '0.1' };
  const text = shown({ usage: [MONTH, other] });
  expect(text.split('\n')).toEqual([
    'usage',
    'month    tier    model                        runs  tokens    cost_usd',
    '2026-11  expert  anthropic/claude-3.5-sonnet    12  129000  0.49500000',
    '2026-11  pro     openai/gpt-4o-mini             12  129000         0.1',
    'sum                                             24  258000  0.59500000',
  ]);
});

it('shows times to the minute, and no sum where a cost is not known yet', () => {
  const running = { ...RUN, task_id: 'agent_124', state: 'running', status: null, cost_usd: null };
  expect(briefRows('runs', [RUN, running]).slice(0, 2)).toEqual([
    { time: '2026-11-27 01:05', status: 'completed', tier: 'pro', cost_usd: '0.1', task: 'agent_123' },
    { time: '2026-11-27 01:05', status: 'running', tier: 'pro', cost_usd: null, task: 'agent_124' },
  ]);
  expect(briefRows('runs', [RUN, running]).at(-1)).toMatchObject({ time: 'sum', cost_usd: '0.1' });
  expect(briefRows('runs', [RUN, { ...RUN, cost_usd: 'unknown' }]).at(-1)).toMatchObject({ cost_usd: null });
});

it('adds up exactly, whatever the figures', () => {
  const rows = ['0.1', '0.2', '123456789012345.00000001'].map((cost_usd) => ({ ...RUN, cost_usd }));
  expect(briefRows('runs', rows).at(-1)).toMatchObject({ cost_usd: '123456789012345.30000001' });
});

it.each([
  [['-0.05', '0.02'], '-0.03'],
  [['-1', '1.5'], '0.5'],
  [['7', '5'], '12'],
])('adds up %j', (costs, sum) => {
  const rows = costs.map((cost_usd) => ({ ...RUN, cost_usd }));
  expect(briefRows('runs', rows).at(-1)).toMatchObject({ cost_usd: sum });
});

it('has no sum below a single row, and leaves other lists as they are', () => {
  expect(briefRows('runs', [RUN])).toHaveLength(1);
  expect(briefRows('servers', [RUN])).toEqual([RUN]);
  expect(briefRows('runs', [])).toEqual([]);
});

it('leaves out an empty list beside one with rows, and says of an only one that it is empty', () => {
  expect(shown({ usage: [MONTH], unknown_usage: [] })).not.toContain('unknown_usage');
  expect(shown({ usage: [], unknown_usage: [] })).toBe('usage          none\nunknown_usage  none');
});

it('shows all columns with --wide', () => {
  const wide = renderValue({ runs: [RUN] }, { isWide: true }).text;
  for (const column of Object.keys(RUN)) expect(wide).toContain(column);
});
