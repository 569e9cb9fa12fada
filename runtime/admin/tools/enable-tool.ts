import * as z from 'zod/v4';

import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { objectField, tenantIdField } from '../read-input';
import { giveTool, limitTool, takeTool } from './tenant-tools';
import { OF_CATALOGUE } from './tool-rows';

const grant = { tenantId: tenantIdField, code: z.string().min(1).max(200).meta(OF_CATALOGUE) };

export const enableTool = operation({
  name: 'tool.enable',
  title: 'Enable for Tenant',
  action: 'Enable a tool for a tenant',
  description: 'Give a tenant the tool',
  input: strictObject({
    ...grant,
    customConfig: objectField.optional().meta({ panel: 'customConfig' }),
  }),
  run: ({ postgres: { transaction } }, given, host) => transaction((query) => giveTool(query, given, host)),
});

export const disableTool = operation({
  name: 'tool.disable',
  title: 'Disable for Tenant',
  action: 'Disable a tool for a tenant',
  description: 'Take the tool from a tenant; its settings stay',
  input: strictObject(grant),
  run: ({ postgres: { transaction } }, given) => transaction((query) => takeTool(query, given)),
});

export const setToolLimits = operation({
  name: 'tool.setLimits',
  title: 'Set Limits',
  action: 'Set the limits of a tool',
  description: 'Calls per day and rules for one tenant',
  input: strictObject({
    ...grant,
    dailyLimit: z.int().min(0).max(2_147_483_647).nullish().meta({
      title: 'Calls per Day',
      initial: '',
      description: 'How often the tenant may call the tool in a day. Empty leaves it as it is.',
    }),
    rules: objectField.optional().meta({ group: 'none' }),
    permissions: objectField.nullish().meta({ panel: 'rules' }),
  }),
  run: ({ postgres: { transaction } }, given) => transaction((query) => limitTool(query, given)),
});
