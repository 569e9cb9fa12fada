import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import { toJson } from '../../nodes/UniversalAiAgent/operations/result';
import { withSteps } from '../../nodes/UniversalAiAgent/operations/steps';
import type { AgentResult } from '../../runtime';

const RESULT: AgentResult = {
  task_id: 'task-1',
  run_id: 'run-1',
  status: 'completed',
  result: { text: 'Two orders.', tool_calls: [{ tool: 'find_orders', arguments: {}, duration_ms: 5 }] },
  model_used: 'openai/gpt-4o-mini',
  agent_tier: 'pro',
  iterations: 1,
  tokens: { prompt: 7, completion: 3, total: 10, cached: 0, cache_written: 0, reasoning: 0 },
  cost_usd: '0.00000285',
  duration_ms: 20,
  warnings: [],
};

test('an item begins with the answer, status and cost, and ends with its ids', () => {
  const names = Object.keys(toJson(RESULT));
  expect(names.slice(0, 7)).toEqual([
    'output',
    'status',
    'cost_usd',
    'tokens',
    'model_used',
    'agent_tier',
    'tool_calls',
  ]);
  expect(names.slice(-2)).toEqual(['task_id', 'run_id']);
});

test('a trace becomes a table whose rows have the same columns, and without one there is no table', () => {
  expect(toJson(RESULT)).not.toHaveProperty('steps');
  const trace = [{ kind: 'tool', step: 1, tool: 'find_orders', code: 'TOOL_FAILED', duration_ms: 5 }] as const;
  expect(toJson({ ...RESULT, trace }).steps).toEqual([
    { step: 1, kind: 'tool', name: 'find_orders', ms: 5, tokens: null, cost: null, error: 'TOOL_FAILED' },
  ]);
});

test.each([
  ['manual', {}, true, false],
  ['manual', { include_trace: true }, true, true],
  ['manual', { include_trace: false }, false, true],
  ['webhook', {}, undefined, true],
])('a run in the mode %s with %j: trace asked %p, kept %p', (...[mode, config, isAsked, isKept]) => {
  const context = { getMode: () => mode } as unknown as IExecuteFunctions;
  const { asked, shown } = withSteps(context, { config });
  expect((asked.config as IDataObject).include_trace).toBe(isAsked);
  expect(Object.keys(shown({ steps: [], trace: [] }))).toEqual(isKept ? ['steps', 'trace'] : ['steps']);
});
