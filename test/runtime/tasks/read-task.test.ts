import type { TaskInput } from '../../../runtime/contracts/queue';
import { CONFIG_KEYS } from '../../../runtime/contracts/task';
import { readTask, taskWarnings } from '../../../runtime/tasks/read-task';
import { tryParseJson } from '../../../runtime/util/json';
import { containing, withCode } from '../../support/setup/matchers';
import { documentsTask } from '../../support/values/documents-task';

const TENANT = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';
const task = (config: object = {}, rest: object = {}) => ({
  config: { message: 'Hi', ...config },
  meta: { tenant_id: TENANT },
  ...rest,
});
const issuesOf = (input: unknown): string => {
  try {
    readTask(input);
  } catch (error) {
    expect(error).toMatchObject({ code: 'INPUT_INVALID' });
    return (error as Error).message;
  }
  throw new Error('the task should have been refused');
};

it("reads the documents' example as it is", () => {
  const example = documentsTask(TENANT);
  expect(readTask(example)).toEqual(example);
});

it('takes every option that the type of the library names, and reads no other one', () => {
  // Does not compile where one is missing.
  const config: Required<TaskInput['config']> = {
    agent_tier: 'pro',
    agent: 'sales',
    system_prompt: 'Be brief.',
    message: 'Hi',
    context: { shop: 7 },
    variables: { customer: { name: 'Ann' } },
    system_prompt_is_template: true,
    message_is_template: true,
    model_override: 'openai:gpt-4o',
    temperature: 0.2,
    max_tokens: 100,
    model_silence_seconds: 5,
    max_iterations: 3,
    on_max_iterations: 'partial',
    timeout_seconds: 60,
    max_cost_usd: '0.5',
    max_total_tokens: 5000,
    max_tool_calls: 4,
    max_calls_per_tool: 2,
    max_identical_calls: 2,
    tools: ['find'],
    disabled_tools: ['send'],
    skills: ['refunds'],
    mode: 'auto',
    session_id: 'chat-7',
    messages: [{ role: 'assistant', content: 'Hello' }],
    planner_tier: 'expert',
    supervisor_tier: 'nano',
    step_tier: 'small',
    tool_permissions: { find: { max_calls_per_run: 1 } },
    tool_choice: 'auto',
    tool_execution: 'single',
    approval: { run_id: TENANT, decision: 'deny' },
    include_trace: true,
    record_usage: false,
  };
  expect(Object.keys(config).sort()).toEqual([...CONFIG_KEYS].sort());
  expect(readTask({ config, meta: { tenant_id: TENANT } }).config).toEqual(config);
});

it('keeps ids beyond 2^53 and the integers of the context', () => {
  const long = '2512292042121000001';
  const text = `{"task_id":${long},"config":{"message":"Hi","context":{"order":${long}}},"meta":{"tenant_id":"${TENANT}","client_id":${long}}}`;
  const parsed = tryParseJson(text);
  const read = readTask(parsed.ok ? parsed.value : undefined);
  expect(read).toMatchObject({ task_id: long, meta: { client_id: long } });
  expect(JSON.stringify(read.config.context)).toBe(`{"order":${long}}`);
});

it('gives ids to a task that has none', () => {
  const first = readTask(task());
  expect(first.task_id).toMatch(/^[0-9a-f-]{36}$/);
  expect(readTask(task()).task_id).not.toBe(first.task_id);
});

it('takes null for not set, and numbers for ids', () => {
  const read = readTask(task({ temperature: null, tools: null }, { task_id: 42, trace_id: null }));
  expect(read).toMatchObject({ task_id: '42', config: { temperature: undefined, tools: undefined } });
});

it('leaves unknown keys out, so that nothing untrusted travels along', () => {
  const { unknownKeys, ...read } = readTask({
    ...task({ api_key: 'x' }),
    meta: { tenant_id: TENANT, is_admin: true },
    extra: 1,
  });
  expect(unknownKeys).toEqual(['api_key']);
  expect(JSON.stringify(read)).not.toMatch(/api_key|is_admin|extra/);
});

it.each([
  ['nothing', undefined, 'the task'],
  ['a text', 'run this', 'the task'],
  ['no message', { config: {}, meta: { tenant_id: TENANT } }, 'config.message'],
  ['a blank message', task({ message: ' \n' }), 'config.message'],
  ['no tenant', { config: { message: 'Hi' }, meta: {} }, 'meta.tenant_id'],
  ['no iterations', task({ max_iterations: 0 }), 'config.max_iterations'],
  ['half an iteration', task({ max_iterations: 1.5 }), 'config.max_iterations'],
  ['a call that repeats itself at once', task({ max_identical_calls: 1 }), 'config.max_identical_calls'],
  ['a hot temperature', task({ temperature: 3 }), 'config.temperature'],
  ['endless time', task({ timeout_seconds: Infinity }), 'config.timeout_seconds'],
  ['no time', task({ timeout_seconds: 0 }), 'config.timeout_seconds'],
  ['an unknown mode', task({ tool_execution: 'all' }), 'config.tool_execution'],
  ['tools that are no list', task({ tools: 'add' }), 'config.tools'],
  ['another kind of task', task({}, { task_type: 'http_request' }), 'task_type'],
  ['an empty task id', task({}, { task_id: '' }), 'task_id'],
  ['a long task id', task({}, { task_id: 'x'.repeat(201) }), 'task_id'],
  ['a long trace id', task({}, { trace_id: 'x'.repeat(101) }), 'trace_id'],
  ['a NUL in an id', task({}, { task_id: 'a\0b' }), 'task_id'],
  ['half a character in an id', task({}, { task_id: 'a\ud800' }), 'task_id'],
])('refuses %s and names the field', (_what, input, field) => expect(issuesOf(input)).toContain(field));

it('names every field that is wrong', () => {
  expect(issuesOf(task({ max_iterations: 0, temperature: 3 }))).toMatch(/temperature.*; config\.max_iterations/);
});

describe('a context', () => {
  it('may be any JSON', () => {
    for (const context of [{ a: [1] }, [1], 'text', 0, false])
      expect(readTask(task({ context })).config.context).toEqual(context);
  });

  it.each([
    ['that is nested too deeply', JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as unknown, 'is nested deeper than'],
    ['with a cycle', cyclic(), 'is nested deeper than'],
    ['with a BigInt', { n: 1n }, 'is not JSON'],
  ])('%s is refused before anything is spent', (_what, context, issue) => {
    expect(issuesOf(task({ context }))).toContain(`config.context ${issue}`);
  });
});

describe('a tenant id', () => {
  it('may have capitals and blanks around it', () => {
    expect(readTask({ ...task(), meta: { tenant_id: ` ${TENANT.toUpperCase()} ` } }).meta.tenant_id).toBe(TENANT);
  });

  it.each([["' OR 1=1--"], ['__proto__'], ['1'], [`${TENANT}x`], [`${TENANT}\n' OR true`], ['x'.repeat(1_000_000)]])(
    'that is none is refused, and shown in short: %.20s',
    (tenant_id) => {
      const refused = (): unknown => readTask({ ...task(), meta: { tenant_id } });
      expect(refused).toThrow(withCode('TENANT_ID_INVALID'));
      expect(refused).not.toThrow(/x{100}/);
    },
  );
});

it('warns that a callback is not delivered, if there is one', () => {
  expect(taskWarnings(readTask(task({}, { callback: { result_key: 'k' } })))).toMatchObject([
    { code: 'CALLBACK_NOT_DELIVERED' },
  ]);
  expect(taskWarnings(readTask(task({}, { callback: {} })))).toEqual([]);
  expect(taskWarnings(readTask(task()))).toEqual([]);
});

describe('a key of the config that nobody reads', () => {
  it('is left out with a warning, since producers send keys of their own', () => {
    const given = { model: 'x', session: 's', output_schema: {}, chat: undefined };
    const read = readTask(task(given));
    expect(read.config).not.toHaveProperty('model');
    expect(taskWarnings(read)).toMatchObject([
      { code: 'CONFIG_KEY_UNKNOWN', message: containing('"model", "session", "output_schema"') },
    ]);
  });

  it.each([
    ['tool', 'tools'],
    ['enabled_tools', 'tools'],
    ['disabled_tool', 'disabled_tools'],
    ['disabledTools', 'disabled_tools'],
    ['tool_permision', 'tool_permissions'],
    ['permissions', 'tool_permissions'],
    ['tool_config', 'tool_permissions'],
    ['max_cost', 'max_cost_usd'],
    ['max_totl_tokens', 'max_total_tokens'],
    ['max_iteration', 'max_iterations'],
    ['max-tool-calls', 'max_tool_calls'],
    ['timeout_second', 'timeout_seconds'],
    ['cost_limit_usd', 'max_cost_usd'],
    ['blocked_tools', 'disabled_tools'],
    ['denied_tools', 'disabled_tools'],
    ['fixed_arguments', 'tool_permissions'],
    ['limits', 'tool_permissions'],
    ['rate_limit', 'tool_permissions'],
    ['timeout', 'timeout_seconds'],
    ['agnet', 'agent'],
    ['agent_teir', 'agent_tier'],
    ['aproval', 'approval'],
    ['maxIterations', 'max_iterations'],
    ['onMaxIterations', 'on_max_iterations'],
    ['system-prompt', 'system_prompt'],
    ['includeTrace', 'include_trace'],
  ])('and was meant to guard is refused: %s for %s', (key, meant) => {
    expect(() => readTask(task({ [key]: 1 }))).toThrow(withCode('INPUT_INVALID'));
    expect(() => readTask(task({ [key]: 1 }))).toThrow(`config has no key "${key}" (did you mean "${meant}"?)`);
  });

  it('is shown in short, however many and however long they are', () => {
    const [warning] = taskWarnings(readTask(task(unknownKeys(200))));
    expect(warning?.message).toContain('and 188 more');
    expect(warning?.message.length).toBeLessThan(1500);
  });

  it('refuses the task where there are more of them than can be looked at', () => {
    expect(() => readTask(task(unknownKeys(201)))).toThrow('config has 201 keys that nobody reads');
  });
});

function unknownKeys(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${'x'.repeat(100)}${index}`, 1]));
}

function cyclic(): object {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}
