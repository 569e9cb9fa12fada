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
  agents: null,
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
