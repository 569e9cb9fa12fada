import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { labelField, objectField, tenantIdField } from '../read-input';
import { changeTenant, checkedTenant } from './tenant-rows';

export const updateTenant = operation({
  name: 'tenant.update',
  title: 'Update',
  action: 'Update a tenant',
  description: 'Change its name or settings',
  input: strictObject({
    tenantId: tenantIdField,
    name: labelField(255).optional().meta({ title: 'New Name', description: 'Empty leaves the name as it is' }),
    settings: objectField.optional().meta({ panel: 'changedSettings' }),
  }),
  run: ({ postgres: { transaction }, codeTools }, { tenantId, ...values }) =>
    transaction(async (query) => {
      await changeTenant(query, tenantId, values);
      return checkedTenant(query, tenantId, { changed: Object.keys(values.settings ?? {}), codeTools });
    }),
});
