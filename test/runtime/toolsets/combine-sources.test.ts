import type { TenantSnapshot } from '../../../runtime/contracts/tenant';
import type { Tool } from '../../../runtime/contracts/tools/tool';
import { createCatalogueSource } from '../../../runtime/toolsets/catalogue-source';
import { combineSources } from '../../../runtime/toolsets/combine-sources';
import { createConnectedSource } from '../../../runtime/toolsets/connected-source';
import { createMcpSource } from '../../../runtime/toolsets/mcp-source';
import { createPluginSource } from '../../../runtime/toolsets/plugin-source';
import type { ToolSource } from '../../../runtime/toolsets/tool-source';
import { aTool } from '../../support/values/loop-script';
import { memoryTenants, TENANT_ID, toolRow } from '../../support/values/memory-stores';

const built = (name: string): Tool => aTool(name);
const limits = { maxOutputBytes: 1000, secrets: [] };
const server = { name: 'shop', url: 'http://shop/', allowedTiers: undefined };
const find = { name: 'find', description: 'Finds', inputSchema: { type: 'object' } };
const found = [{ server, tools: [find], warnings: [] }];
const mcp = { discover: () => Promise.resolve(found as never) };
const connected = [
  {
    definition: { name: 'find', description: 'Finds', inputSchema: { type: 'object' } },
    call: () => Promise.resolve(''),
  },
];

const catalogue = createCatalogueSource((rows) =>
  Promise.resolve({ tools: rows.map(({ code }) => ({ tool: built(code), type: 'hook', code })), warnings: [] }),
);
const sources: Record<string, ToolSource> = {
  catalogue,
  mcp: createMcpSource(mcp, ({ name }) => built(name)),
  plugin: createPluginSource([built('now')]),
  connected: createConnectedSource(limits),
};
const { signal } = new AbortController();
const policy = { levels: [] };
let snapshot: TenantSnapshot;
let request: Parameters<ReturnType<typeof combineSources>>[0];
beforeAll(async () => {
  const tenants = memoryTenants([toolRow({ code: 'add' })], {
    servers: [{ ...server, tools: [], excludeTools: [] }] as never,
  });
  snapshot = await tenants.load({ tenantId: TENANT_ID, modelIds: [] });
  request = { snapshot, rules: [], servers: [], signal };
});

it.each(Object.keys(sources))('the source %s gives the very same offer while nothing has changed', async (name) => {
  const source = sources[name] as ToolSource;
  const skills = { entries: [], missing: [] };
  const subAgents = { asking: '', entries: [], missing: [] };
  const asked = { snapshot, servers: [], connected: [], policy, skills, subAgents, mode: 'direct' as const, signal };
  const first = await source.offer(asked, undefined);
  expect(await source.offer(asked, first)).toBe(first);
});

it('the sources say what they have to say to the model, in their order, while one of their tools is allowed', async () => {
  const says = (...instructions: string[]): ToolSource[] =>
    instructions.map((one) => {
      const tools = [{ name: `tool_${one}`, type: 'code', build: built }];
      return { offer: () => ({ tools, warnings: [], instructions: one }) };
    });
  const select = combineSources([...says('One'), ...Object.values(sources), ...says('Two', 'Three')]);
  expect((await select(request)).instructions).toEqual(['One', 'Two', 'Three']);
  const rules = [{ disabled_tools: ['tool_Two'] }];
  expect((await select({ ...request, rules })).instructions).toEqual(['One', 'Three']);
});

it('the tools come in the order of the sources, and the very same toolset while nothing has changed', async () => {
  const select = combineSources(Object.values(sources));
  const { toolset, tools } = await select(request);
  expect(toolset.definitions.map(({ name }) => name)).toEqual(['add', 'shop_find', 'now']);
  expect(tools.map(({ type }) => type)).toEqual(['hook', 'mcp', 'code']);
  expect((await select(request)).toolset).toBe(toolset);
});

it('a toolset with tools of one run is not kept for the next', async () => {
  const select = combineSources(Object.values(sources));
  const plain = await select(request);
  const more = await select({ ...request, connected });
  expect(more.tools.map(({ tool }) => tool.definition.name)).toEqual(['add', 'shop_find', 'now', 'find']);
  expect((await select({ ...request, connected })).toolset).not.toBe(more.toolset);
  expect((await select(request)).toolset).toBe(plain.toolset);
});

it('fixed names stay, whichever source stands first; others make way', async () => {
  const select = combineSources([sources.connected as ToolSource, createPluginSource([built('find')])]);
  const { tools } = await select({ ...request, connected });
  expect(tools.map(({ tool, formerName }) => [tool.definition.name, formerName])).toEqual([
    [expect.stringMatching(/^find_[0-9a-f]{8}$/), 'find'],
    ['find', undefined],
  ]);
});

it('a tool that cannot be used is a warning, in the words of its source or in ours', async () => {
  const fails = () => {
    throw new Error('no schema');
  };
  const offer = (more: object): ToolSource => ({
    offer: () => ({ tools: [{ name: 'odd', type: 'code', build: fails, ...more }], warnings: [] }),
  });
  const unusable = (reason: string) => ({ code: 'MCP_TOOLS_SKIPPED' as const, message: reason, hint: '' });
  const { tools, warnings } = await combineSources([offer({}), offer({ unusable })])(request);
  expect(tools).toEqual([]);
  expect(warnings.map(({ code }) => code)).toEqual(['TOOL_SKIPPED', 'MCP_TOOLS_SKIPPED']);
});
