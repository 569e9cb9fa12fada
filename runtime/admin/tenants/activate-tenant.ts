import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { tenantIdField } from '../read-input';
import { CHECKED_SETTINGS } from './check-settings';
import { changeTenant, checkedTenant, readTenant } from './tenant-rows';

const input = strictObject({ tenantId: tenantIdField });

export const activateTenant = operation({
  name: 'tenant.activate',
  title: 'Activate',
  action: 'Activate a tenant',
  description: 'Reactivate the tenant',
  input,
  run: ({ postgres: { transaction }, codeTools }, { tenantId }) =>
    transaction(async (query) => {
      await changeTenant(query, tenantId, { is_active: true });
      return checkedTenant(query, tenantId, { changed: CHECKED_SETTINGS, codeTools });
    }),
});

export const deactivateTenant = operation({
  name: 'tenant.deactivate',
  title: 'Deactivate',
  action: 'Deactivate a tenant',
  description: 'Stop its runs and keep its data',
  input,
  // Nothing is checked: a tenant is stopped whatever its settings say.
  run: ({ postgres: { transaction } }, { tenantId }) =>
    transaction(async (query) => {
      await changeTenant(query, tenantId, { is_active: false });
      return readTenant(query, tenantId);
    }),
});
