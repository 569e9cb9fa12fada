import type { SnapshotColumns } from '../../../runtime/tenants/parse-snapshot';
import { createTenantStore } from '../../../runtime/tenants/tenant-store';

const columns = (rest: Partial<SnapshotColumns> = {}): SnapshotColumns => ({
  id: 'a',
  is_active: true,
  settings: '{}',
  tiers: '[]',
  prices: '[]',
  tools: '[{"code":"add"}]',
  servers: '[]',
  server_tools: '[]',
  secrets: '[]',
  channels: '{}',
  policy_version: 'v',
  ...rest,
});

function store(...answers: (SnapshotColumns | undefined)[]) {
  const asked: string[] = [];
  const query = (tenantIds: readonly string[]): Promise<readonly SnapshotColumns[]> => {
    asked.push(...tenantIds);
    return Promise.resolve(tenantIds.flatMap(() => answers.shift() ?? []));
  };
  const tenants = createTenantStore({ query, rememberedTenants: 2 });
  return { asked, load: (tenantId = 'a') => tenants.load({ tenantId, modelIds: [] }) };
}

it('refuses a tenant that is not there', async () => {
  await expect(store(undefined).load()).rejects.toMatchObject({ code: 'TENANT_NOT_FOUND', details: { tenantId: 'a' } });
});

it('asks the database every time, and gives the same objects when nothing changed', async () => {
  const { load, asked } = store(columns(), columns());
  expect(await load()).toBe(await load());
  expect(asked).toEqual(['a', 'a']);
});

it('sees a change at once, and keeps the tools when only something else changed', async () => {
  const { load } = store(
    columns(),
    columns({ settings: '{"max_tier":"pro"}' }),
    columns({ tools: '[]' }),
    columns({ is_active: false }),
  );
  const first = await load();
  const second = await load();
  expect(second.tenant.settings.maxTier).toBe('pro');
  expect(second.tools).toBe(first.tools);
  expect((await load()).tools).toEqual([]);
  expect((await load()).tenant.isActive).toBe(false);
});

it("never gives one tenant's tools to another", async () => {
  const { load } = store(columns(), columns({ id: 'b', tools: '[{"code":"other"}]' }), columns());
  await load('a');
  expect((await load('b')).tools).toMatchObject([{ code: 'other' }]);
  expect((await load('a')).tools).toMatchObject([{ code: 'add' }]);
});

it('gives the same objects to runs of different agents in turn, and to those of none', async () => {
  const agents = (name: string) =>
    JSON.stringify({ is_any: true, rows: [{ tenant_id: 'a', is_active: true, version: 1, name }], below: [] });
  const rows: Record<string, SnapshotColumns> = {
    a: columns({ prices: '[{"model_id":"a"}]', agents: agents('a') }),
    b: columns({ prices: '[{"model_id":"b"}]', agents: agents('b') }),
    none: columns(),
  };
  const tenants = createTenantStore({
    rememberedTenants: 2,
    query: (_tenantIds, { agent = 'none' }) => Promise.resolve([rows[agent] as SnapshotColumns]),
  });
  const load = (agent?: string) => tenants.load({ tenantId: 'a', modelIds: [], agent });
  const first = [await load('a'), await load('b'), await load()];
  expect([await load('a'), await load('b'), await load()].map((one, index) => one === first[index])).toEqual([
    true,
    true,
    true,
  ]);
  expect(new Set(first.map(({ tools }) => tools)).size).toBe(1);
  expect(first.map(({ agents: found }) => found?.rows[0]?.definition.name)).toEqual(['a', 'b', undefined]);
});
