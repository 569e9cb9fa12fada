import type { ToolTransport } from '../../../runtime/contracts/tools/tool-transport';
import { createToolBuilder } from '../../../runtime/tools/build-tools';
import { createToolset } from '../../../runtime/tools/combine-toolsets';
import { aTool } from '../../support/values/loop-script';
import { toolRow } from '../../support/values/memory-stores';

const hook: ToolTransport = {
  call: (settings, call) =>
    Promise.resolve({ text: JSON.stringify({ ...call.input, to: settings.name }), isCut: false }),
  close: () => Promise.resolve(),
};
const build = createToolBuilder({ transports: { hook }, defaultTimeoutMs: 1000, maxOutputBytes: 1000, secrets: [] });
it('builds the rows that it can, and warns of the others by name and reason', async () => {
  const { tools, warnings } = await build([
    toolRow({ code: 'first' }),
    toolRow({ code: 'bad name!' }),
    toolRow({ code: 'nowhere', endpoint: null }),
    toolRow({ code: 'schema', parametersSchema: { type: 'object', properties: { a: { type: 'numbr' } } } }),
    toolRow({ code: 'remote', parametersSchema: { type: 'object', $ref: 'https://example.com/x' } }),
    toolRow({ code: 'last' }),
  ]);
  expect(tools.map(({ tool }) => tool.definition.name)).toEqual(['first', 'last']);
  expect(warnings.map(({ code, message }) => [code, /Tool "([^"]*)"/.exec(message)?.[1]])).toEqual([
    ['TOOL_SKIPPED', 'bad name!'],
    ['TOOL_SKIPPED', 'nowhere'],
    ['TOOL_SKIPPED', 'schema'],
    ['TOOL_SKIPPED', 'remote'],
  ]);
});

it.each([['workflow'], ['constructor'], ['__proto__'], ['toString']])(
  'skips a row whose transport is %s',
  async (transport) => {
    const { tools, warnings } = await build([toolRow({ code: 'add', transport })]);
    expect(tools).toEqual([]);
    expect(warnings[0]?.message).toContain('is not supported');
  },
);

it('gives a name that comes twice to the first tool', () => {
  const first = aTool('add');
  const toolset = createToolset([first, aTool('sub'), aTool('add')]);
  expect(toolset.definitions.map((definition) => definition.name)).toEqual(['add', 'sub']);
  expect(toolset.find('add')).toBe(first);
  expect(toolset.find('constructor')).toBeUndefined();
});
