import { randomUUID } from 'node:crypto';

import type { TenantStore } from '../../runtime';

/** What a store under test is to hold. */
export interface GivenTenant {
  readonly isActive?: boolean;
  readonly monthlyCostLimitUsd?: string;
  readonly tools?: readonly { readonly code: string; readonly endpoint: string }[];
}

export interface TenantsUnderTest {
  readonly store: TenantStore;
  readonly tenantId: string;
}

/** Declares what every `TenantStore` has to do. */
export function describeTenants(holding: (tenant: GivenTenant) => Promise<TenantsUnderTest>): void {
  it('knows a tenant with its settings and tools', async () => {
    const { store, tenantId } = await holding({
      monthlyCostLimitUsd: '12.50',
      tools: [{ code: 'find_orders', endpoint: 'https://orders.example.com/find' }],
    });
    const { tenant, tools } = await store.load({ tenantId, modelIds: [] });
    expect(tenant).toMatchObject({ id: tenantId, isActive: true, settings: { monthlyCostLimitUsd: '12.50' } });
    expect(tools).toMatchObject([
      {
        code: 'find_orders',
        description: 'Does find_orders',
        parametersSchema: null,
        endpoint: 'https://orders.example.com/find',
        transport: 'hook',
        customConfig: {},
        transportConfig: {},
      },
    ]);
  });

  it('knows it by its id in capitals too', async () => {
    const { store, tenantId } = await holding({});
    const { tenant } = await store.load({ tenantId: tenantId.toUpperCase(), modelIds: [] });
    expect(tenant.id).toBe(tenantId);
  });

  it('gives one that is not active, and says so: whoever asks refuses it', async () => {
    const { store, tenantId } = await holding({ isActive: false });
    const { tenant } = await store.load({ tenantId, modelIds: [] });
    expect(tenant.isActive).toBe(false);
  });

  it('rejects for one that it does not know', async () => {
    const { store } = await holding({});
    await expect(store.load({ tenantId: randomUUID(), modelIds: [] })).rejects.toMatchObject({
      code: 'TENANT_NOT_FOUND',
    });
  });

  it('gives the same tools as long as nothing has changed, so that they are made ready once', async () => {
    const { store, tenantId } = await holding({ tools: [{ code: 'find_orders', endpoint: 'https://a.example.com' }] });
    const first = await store.load({ tenantId, modelIds: ['a/model'] });
    const second = await store.load({ tenantId, modelIds: ['a/model'] });
    expect(second.tools).toBe(first.tools);
  });
}
