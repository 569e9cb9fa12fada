import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import { noteRun } from '../../nodes/UniversalAiAgent/host/custom-data';
import { doItems } from '../../nodes/UniversalAiAgent/operations/do-items';
import { hintAtRuns, summaryOf } from '../../nodes/UniversalAiAgent/operations/run-summary';

const call = (tool: string, more: object = {}): object => ({ tool, arguments: {}, duration_ms: 120, ...more });
const ran = (calls: readonly object[], more: object = {}): IDataObject => ({
  ...{ iterations: 2, duration_ms: 1400, cost_usd: '0.00012000', result: { text: '', tool_calls: calls } },
  ...more,
});

it.each([
  ['a run', [ran([])], '2 model calls, 0 tool calls, 1400 ms, $0.00012000'],
  [
    'a run with tools',
    [ran([call('find'), call('send', { error: { code: 'TOOL_TIMEOUT' } })], { iterations: 1 })],
    '1 model call, 2 tool calls (find 120 ms, send failed after 120 ms), 1400 ms, $0.00012000',
  ],
  [
    'a run with many tools',
    [ran(Array.from({ length: 6 }, () => call('find')))],
    `2 model calls, 6 tool calls (${Array.from({ length: 5 }, () => 'find 120 ms').join(', ')}, …), 1400 ms, $0.00012000`,
  ],
  [
    'several runs',
    [ran([call('find', { error: 'no' })]), ran([call('find')]), { output: '' }],
    '2 runs, 4 model calls, 2 tool calls (1 failed), 2800 ms, $0.00024000',
  ],
  ['a stored result', [ran([], { replayed: true })], undefined],
])('%s is told in one line', (_name, items, line) => {
  expect(summaryOf(items)).toBe(line);
});

it.each([
  [
    'manual',
    [
      {
        message: '2 model calls, 1 tool call (&lt;b&gt; 120 ms), 1400 ms, $0.00012000',
        type: 'info',
        location: 'outputPane',
      },
    ],
  ],
  ['webhook', []],
])('is shown above the output in the mode %s', (mode, hints) => {
  const shown: object[] = [];
  const context = { getMode: () => mode, addExecutionHints: (...all: object[]) => shown.push(...all) };
  hintAtRuns(context as unknown as IExecuteFunctions, [ran([call('<b>')])]);
  expect(shown).toEqual(hints);
});

it("stands among the execution's facts, no longer than n8n takes it", () => {
  const facts = new Map<string, string>();
  const task = { meta: { tenant_id: 'tenant-1' } };
  const result = ran([call('x'.repeat(300))], { agent_tier: 'pro', status: 'completed' });
  noteRun({ customData: facts } as unknown as IExecuteFunctions, task, result);
  const { run, ...others } = Object.fromEntries(facts);
  expect(others).toEqual({ tenant: 'tenant-1', tier: 'pro', status: 'completed', cost_usd: '0.00012000' });
  expect(run).toMatch(/^2 model calls, 1 tool call \(xxx/);
  expect(run).toHaveLength(255);
  // n8n keeps what was set by an item before.
  noteRun({ customData: facts } as unknown as IExecuteFunctions, task, { ...result, replayed: true });
  expect(facts.get('run')).toBe('replayed');
});

it('an item that fails before its run has no part in it, whatever its input holds', async () => {
  const parameters = { operation: 'nonsense', options: { includeInputFields: true } };
  const hints: object[] = [];
  const context = {
    getNode: () => ({ type: 'universalAiAgent', parameters }),
    getInputData: () => [{ json: ran([]) }],
    getNodeParameter: () => true,
    getChatTrigger: () => null,
    getMode: () => 'manual',
    continueOnFail: () => true,
    isStreaming: () => false,
    addExecutionHints: (...shown: { readonly message: string }[]) => hints.push(...shown),
  } as unknown as IExecuteFunctions;
  const [item] = await doItems(context);
  expect(item?.json).toMatchObject({ iterations: 2, error: { code: 'INPUT_INVALID' } });
  expect(hints).toMatchObject([{ message: expect.stringContaining('INPUT_INVALID') as string }]);
});
