import type { StepRecord } from '../../../runtime/contracts/ledger/journal';
import type { ToolCallRecord } from '../../../runtime/contracts/tools/tool-call';
import type { ErrorCode } from '../../../runtime/errors/codes';
import { failedTools } from '../../../runtime/run/failed-tools';

function call(tool: string, code?: string, message = 'it broke'): ToolCallRecord {
  const isError = code !== undefined;
  const outcome = { isError, code: code as ErrorCode | undefined, value: isError ? { code, message } : 1 };
  const common = { step: 1, id: 'call', decision: 'allow', isRepeatable: true, wasSent: true, durationMs: 1 } as const;
  return { ...common, tool, arguments: {}, outcome };
}

const step = (step: number, ...toolCalls: ToolCallRecord[]): StepRecord => ({
  step,
  finishReason: 'tool-calls',
  durationMs: 1,
  toolCalls,
});

it('counts the calls of each tool that failed, and tells the last reason in one line', () => {
  const warnings = failedTools([
    step(1, call('find_orders', 'TOOL_HTTP_ERROR', 'answered HTTP 500'), call('weather')),
    step(2, call('find_orders', 'TOOL_TIMEOUT', 'did not\n answer'), call('find_orders')),
  ]);
  expect(warnings.map(({ code, message }) => [code, message])).toEqual([
    ['TOOL_FAILED', '2 of 3 calls of find_orders failed: did not answer'],
  ]);
});

it.each(['TOOL_HTTP_ERROR', 'TOOL_TIMEOUT', 'TOOL_UNREACHABLE', 'TOOL_CONNECTION_LOST', 'TOOL_FAILED', 'TOOL_BUSY'])(
  'warns of a tool that failed with %s',
  (code) => {
    expect(failedTools([step(1, call('find_orders', code))])).toHaveLength(1);
  },
);

it.each(['TOOL_PERMISSION_DENIED', 'TOOL_LIMIT_REACHED', 'TOOL_RUN_LIMIT', 'TOOL_APPROVAL_DENIED'])(
  'does not warn of what the rules refused: %s',
  (code) => {
    expect(failedTools([step(1, call('find_orders', code))])).toEqual([]);
  },
);

it.each(['TOOL_INVALID_ARGS', 'TOOL_NOT_FOUND', 'SQL_FAILED'])(
  'does not warn of what the model got wrong: %s',
  (code) => {
    expect(failedTools([step(1, call('find_orders', code))])).toEqual([]);
  },
);

it('shows the start of a long reason', () => {
  const [warning] = failedTools([step(1, call('find_orders', 'TOOL_HTTP_ERROR', 'x'.repeat(5000)))]);
  expect(warning?.message.length).toBeLessThan(400);
});
