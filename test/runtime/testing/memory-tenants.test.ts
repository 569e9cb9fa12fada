import { randomUUID } from 'node:crypto';

import { createMemoryTenants } from '../../../runtime/testing';
import { describeTenants } from '../../contract/tenants';

describeTenants(({ isActive, monthlyCostLimitUsd, tools }) => {
  const tenantId = randomUUID();
  const store = createMemoryTenants([{ id: tenantId, isActive, settings: { monthlyCostLimitUsd }, tools }]);
  return Promise.resolve({ store, tenantId });
});

it('knows the agents that an agent can ask', async () => {
  const id = randomUUID();
  const agents = [
    { name: 'billing', description: 'Bills.' },
    { name: 'lead', subAgents: ['billing', 'nobody'] },
  ];
  const { agents: found } = await createMemoryTenants([{ id, agents }]).load({
    ...{ tenantId: id, modelIds: [], agent: 'lead' },
  });
  expect(found?.below).toEqual([{ name: 'billing', description: 'Bills.', isActive: true }]);
});
