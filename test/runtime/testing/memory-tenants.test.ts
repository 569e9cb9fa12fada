import { randomUUID } from 'node:crypto';

import { createMemoryTenants } from '../../../runtime/testing';
import { describeTenants } from '../../contract/tenants';

describeTenants(({ isActive, monthlyCostLimitUsd, tools }) => {
  const tenantId = randomUUID();
  const store = createMemoryTenants([{ id: tenantId, isActive, settings: { monthlyCostLimitUsd }, tools }]);
  return Promise.resolve({ store, tenantId });
});
