import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { labelField, tenantIdField } from '../read-input';
import { findOneTenant, readTenant } from './tenant-rows';

export const getTenant = operation({
  name: 'tenant.get',
  title: 'Get',
  action: 'Get a tenant',
  description: 'Its settings, and what it spent this month',
  input: z.union(
    [strictObject({ tenantId: tenantIdField }), strictObject({ name: labelField(255).meta({ group: 'none' }) })],
    'needs the ID of a tenant, or its name',
  ),
  run: async ({ postgres: { query } }, given) => {
    if ('tenantId' in given) return readTenant(query, given.tenantId);
    const tenantId = await findOneTenant(query, given);
    if (tenantId === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId: given.name });
    return readTenant(query, tenantId);
  },
});
