import { createRuntime, type RuntimePlugins, type Tool } from '../../../runtime';
import { createMemoryLedger, createMemoryTenants, createScriptedModel } from '../../../runtime/testing';
import { containing } from '../../support/setup/matchers';
import { echoTool } from '../../support/values/agent-fixture';
import { TENANT_ID } from '../../support/values/memory-stores';

const OTHER = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const named = (name: string): Tool => ({ ...echoTool, definition: { ...echoTool.definition, name } });
const run = async (
  toolSources: RuntimePlugins['toolSources'],
  { tenantIds = [TENANT_ID], config = {} }: { readonly tenantIds?: readonly string[]; readonly config?: object } = {},
) => {
  const model = createScriptedModel(tenantIds.map(() => 'Done.'));
  const tenants = createMemoryTenants([{ id: TENANT_ID }, { id: OTHER }]);
  const runtime = createRuntime({ plugins: { ledger: createMemoryLedger(), tenants, model, toolSources } });
  const results = [];
  for (const tenant_id of tenantIds) {
    results.push(await runtime.run({ config: { message: 'Hi', ...config }, meta: { tenant_id } }));
  }
  await runtime.close();
  return { results, offered: model.requests.map(({ tools }) => tools.map(({ name }) => name)), model };
};

it('offers each tenant its own tools', async () => {
  const asked: string[] = [];
  const toolsOf = (tenantId: string) => {
    asked.push(tenantId);
    return Promise.resolve([named(tenantId === OTHER ? 'of_other' : 'of_one')]);
  };
  const { offered } = await run([{ name: 'registry', toolsOf }], { tenantIds: [TENANT_ID, OTHER, TENANT_ID] });
  expect(offered).toEqual([['of_one'], ['of_other'], ['of_one']]);
  expect(asked).toEqual([TENANT_ID, OTHER, TENANT_ID]);
});

it('serialises the same tools once', async () => {
  const tools = [named('find')];
  const { model } = await run([{ name: 'registry', toolsOf: () => tools }], { tenantIds: [TENANT_ID, TENANT_ID] });
  expect(model.requests[1]?.tools).toBe(model.requests[0]?.tools);
});

it('is under the rules of the task', async () => {
  const toolsOf = () => [named('find'), named('send')];
  const { offered } = await run([{ name: 'registry', toolsOf }], { config: { disabled_tools: ['send'] } });
  expect(offered).toEqual([['find']]);
});

it.each<[string, NonNullable<RuntimePlugins['toolSources']>[number]['toolsOf'], string]>([
  ['rejects', () => Promise.reject(new Error('the registry is down')), 'the registry is down'],
  [
    'throws',
    () => {
      throw new Error('no such tenant');
    },
    'no such tenant',
  ],
  ['returns nothing', () => undefined as unknown as Tool[], ''],
  ['returns what is not a tool', () => [null, 7] as unknown as Tool[], ''],
  ['returns a tool that no provider takes', () => [named('find stock!')], 'the name of a tool'],
  ['returns a tool without a name', () => [named(undefined as unknown as string)], 'the name of a tool'],
])('refuses a run, before a model is asked, if a source %s', async (_how, toolsOf, reason) => {
  const failing = run([{ name: 'broken', toolsOf }]);
  await expect(failing).rejects.toMatchObject({
    code: 'TOOL_SOURCE_FAILED',
    retryable: true,
    message: containing(`"broken" of tools failed: ${reason}`),
  });
  await expect(failing).rejects.not.toHaveProperty('result.run_id');
});

it('offers what an array holds now, although it was changed in place', async () => {
  const tools = [named('find'), named('send')];
  const toolsOf = () => [tools, tools.pop()][0] as Tool[];
  const { offered } = await run([{ name: 'registry', toolsOf }], { tenantIds: [TENANT_ID, TENANT_ID] });
  expect(offered).toEqual([['find'], []]);
});

it('does not hold a run beyond its time-out', async () => {
  const never = { name: 'registry', toolsOf: () => new Promise<Tool[]>(() => undefined) };
  await expect(run([never], { config: { timeout_seconds: 0.2 } })).rejects.toMatchObject({ code: 'RUN_TIMEOUT' });
});
