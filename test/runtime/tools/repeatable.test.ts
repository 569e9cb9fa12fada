import type { ToolRow } from '../../../runtime/contracts/tenant';
import type { ToolSettings } from '../../../runtime/contracts/tools/tool-transport';
import { mayRepeat } from '../../../runtime/loop/repeated-calls';
import { combinePermissions } from '../../../runtime/permissions/combine-permissions';
import { guardTool } from '../../../runtime/permissions/guard-tool';
import { readPermission } from '../../../runtime/permissions/read-tool-rules';
import { createServerToolBuilder, createToolBuilder } from '../../../runtime/tools/build-tools';
import { createBuiltinTransport } from '../../../runtime/tools/transports/builtin-transport';
import { createHookTransport } from '../../../runtime/tools/transports/hook-transport';
import { createRestTransport } from '../../../runtime/tools/transports/rest-transport';
import { createWorkflowTransport } from '../../../runtime/tools/transports/workflow-transport';
import { aTool } from '../../support/values/loop-script';
import { toolRow } from '../../support/values/memory-stores';

const ports = {
  keys: { get: () => Promise.resolve(null) },
  sql: { reader: { read: () => Promise.reject(new Error('not used')), close: () => Promise.resolve() }, maxRows: 1 },
};
const options = {
  transports: {
    hook: createHookTransport(),
    rest: createRestTransport(),
    workflow: createWorkflowTransport(),
    builtin: createBuiltinTransport(ports),
    mcp: createHookTransport(),
  },
  ...{ defaultTimeoutMs: 1000, maxOutputBytes: 1000, secrets: [] },
};
const build = createToolBuilder(options);
afterAll(() => Promise.all(Object.values(options.transports).map(({ close }) => close())));

async function toolOf(row: Partial<ToolRow>) {
  const { tools, warnings } = await build([toolRow({ code: 'one', ...row })]);
  expect(warnings).toEqual([]);
  return tools[0]?.tool ?? aTool('none');
}
const repeatable = async (row: Partial<ToolRow>, input = {}) => mayRepeat(await toolOf(row), input);
const yes = { repeatable: true };

it.each<[string, Partial<ToolRow>, boolean]>([
  ['a hook', {}, false],
  ['a hook that says so', { transportConfig: yes }, true],
  ['a hook of which the tenant says so', { customConfig: yes }, true],
  ['a hook of which the tenant says otherwise', { transportConfig: yes, customConfig: { repeatable: false } }, false],
  ['a workflow', { transport: 'workflow' }, false],
  ['a workflow that says so', { transport: 'workflow', transportConfig: yes }, true],
  ['a tool of an MCP server in a row', { transport: 'mcp' }, false],
  ['a POST', { transport: 'rest' }, false],
  ['a POST that says so', { transport: 'rest', transportConfig: yes }, true],
  ['a GET', { transport: 'rest', transportConfig: { method: 'GET' } }, true],
  ['a GET that says otherwise', { transport: 'rest', transportConfig: { method: 'get', repeatable: false } }, false],
  ['a DELETE', { transport: 'rest', transportConfig: { method: 'DELETE' } }, false],
  ...['extract', 'redis_get', 'set_variable', 'sql_query', 'web_fetch', 'neo4j_query'].map(
    (builtin): [string, Partial<ToolRow>, boolean] => [
      builtin,
      { transport: 'builtin', transportConfig: { builtin } },
      true,
    ],
  ),
])('whether a call may be made again whose outcome is unknown: %s', async (_what, row, expected) => {
  expect(await repeatable(row)).toBe(expected);
});

it('asks the call itself where that decides, with what the rules fix', async () => {
  const row = { transport: 'builtin', transportConfig: { builtin: 'http_request' } };
  expect(await repeatable(row, { method: 'get' })).toBe(true);
  expect(await repeatable(row, {})).toBe(true);
  expect(await repeatable(row, { method: 'POST' })).toBe(false);
  const fixed = async (method: string) =>
    guardTool(await toolOf(row), combinePermissions([readPermission({ fixed_arguments: { method } }, 'rules')]));
  expect(mayRepeat(await fixed('POST'), {})).toBe(false);
  expect(mayRepeat(await fixed('GET'), { method: 'POST' })).toBe(true);
});

it('stays with the tool under any rules', async () => {
  const guarded = guardTool(await toolOf({ customConfig: yes }), combinePermissions([]));
  expect(mayRepeat(guarded, {})).toBe(true);
});

it.each([true, false])('is what a discovered tool says of itself: %s', (isRepeatable) => {
  const settings = {
    name: 'find',
    inputSchema: { type: 'object' },
    config: {},
    headers: {},
    secrets: [],
    isRepeatable,
  };
  const tool = createServerToolBuilder(options)(settings as unknown as ToolSettings);
  expect(mayRepeat(tool, {})).toBe(isRepeatable);
});

it('is not offered with a word in its place', async () => {
  const { warnings } = await build([toolRow({ code: 'one', transportConfig: { repeatable: 'yes' } })]);
  expect(warnings[0]?.message).toContain('transport_config.repeatable is neither true nor false');
});

it('is no for a tool that cannot tell', () => {
  const isRepeatable = () => {
    throw new Error('no idea');
  };
  expect(mayRepeat({ ...aTool('plugin'), isRepeatable }, {})).toBe(false);
  expect(mayRepeat(aTool('plugin'), {})).toBe(false);
});
