import { createRuntime, type Log, type Model, type Tool } from '../../../runtime';
import { createMemoryLedger, createMemoryTenants, createScriptedModel } from '../../../runtime/testing';
import { withCode } from '../../support/setup/matchers';
import { failureOf, gate } from '../../support/values/agent-fixture';

const TENANT = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';
const SECRET = 'hunter2-hunter2';
const find: Tool = {
  definition: { name: 'find', description: 'Finds', inputSchema: { type: 'object' } },
  parseInput: (value) => ({ ok: true, value }),
  execute: () => Promise.resolve({ isError: false, value: SECRET }),
};
const TASK = {
  task_id: 'task-1',
  trace_id: 'trace-1',
  config: { agent_tier: 'pro', message: `My word is ${SECRET}` },
  meta: { tenant_id: TENANT },
};

type Line = Parameters<Log>;

function aRuntime(model: Parameters<typeof createScriptedModel>[0], logger?: Log) {
  return createRuntime({
    logger,
    plugins: {
      ledger: createMemoryLedger(),
      tenants: createMemoryTenants([{ id: TENANT }]),
      model: createScriptedModel(model),
      tools: [find],
    },
  });
}

const CALLS = {
  calls: [
    { name: 'find', arguments: { word: SECRET } },
    { name: 'lose', arguments: { word: SECRET } },
  ],
};

it('writes what a run does, and none of what it holds', async () => {
  const lines: Line[] = [];
  const runtime = aRuntime([CALLS, 'Found.'], (...line) => void lines.push(line));
  const { run_id } = await runtime.run(TASK);
  const ids = { tenant_id: TENANT, task_id: 'task-1', run_id, trace_id: 'trace-1' };
  const ms = expect.any(Number) as number;
  const tokens = { prompt_tokens: ms, completion_tokens: ms };
  expect(lines).toEqual([
    ['debug', 'run started', { ...ids, model: expect.any(String) as string, tools: 1 }],
    ['warn', 'tool failed', { ...ids, step: 1, tool: 'lose', duration_ms: ms, code: 'TOOL_NOT_FOUND' }],
    ['debug', 'tool called', { ...ids, step: 1, tool: 'find', duration_ms: ms, code: undefined }],
    ['debug', 'step done', { ...ids, step: 1, ...tokens }],
    ['debug', 'step done', { ...ids, step: 2, ...tokens }],
    ['info', 'run ended', { ...ids, status: 'completed', cost_usd: expect.any(String) as string, code: undefined }],
  ]);
  expect(JSON.stringify(lines)).not.toContain(SECRET);
  await runtime.close();
});

it("names the error that ended a run, in the log of the run's own host", async () => {
  const [ofRuntime, ofRun]: [Line[], Line[]] = [[], []];
  const runtime = aRuntime([], (...line) => void ofRuntime.push(line));
  const { code } = await failureOf(runtime.run(TASK, { logger: (...line) => void ofRun.push(line) }));
  expect(ofRun.at(-1)).toMatchObject(['info', 'run ended', { status: 'failed', code }]);
  expect(ofRuntime).toEqual([]);
  await runtime.close();
});

it.each<[string, Log]>([
  [
    'throws',
    () => {
      throw new Error('disk full');
    },
  ],
  ['rejects', () => Promise.reject(new Error('disk full'))],
])('a log that %s costs no run', async (_how, logger) => {
  const runtime = aRuntime(['Found.'], logger);
  expect((await runtime.run(TASK)).result.text).toBe('Found.');
  await runtime.close();
});

it('nothing is told after the end, whatever a model that was given up still says', async () => {
  const told: string[] = [];
  const speaking = gate<() => void>();
  const model: Model = {
    generate: ({ onDelta }) => {
      speaking.open(() => onDelta?.({ kind: 'text', text: 'late words of it. ' }));
      return new Promise(() => undefined);
    },
  };
  const runtime = createRuntime({
    plugins: { ledger: createMemoryLedger(), tenants: createMemoryTenants([{ id: TENANT }]), model },
  });
  const leaving = new AbortController();
  const run = runtime.run(TASK, { stream: true, signal: leaving.signal, onEvent: ({ type }) => void told.push(type) });
  const speak = await speaking.opened;
  leaving.abort();
  await failureOf(run);
  speak();
  expect(told.at(-1)).toBe('run-end');
  await runtime.close();
});

it('refuses a logger that is no function', () => {
  expect(() => aRuntime([], console as never)).toThrow(withCode('CONFIG_INVALID'));
});
