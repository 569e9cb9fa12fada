import * as z from 'zod/v4';

import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { objectField, tenantIdField } from '../read-input';

export const executeTool = operation({
  name: 'tool.execute',
  title: 'Execute',
  action: 'Execute a tool',
  description: 'Call the tool as an agent would, under the same checks and limits',
  needs: ['vault'],
  input: strictObject({
    tenantId: tenantIdField,
    tool: z.string().min(1),
    arguments: objectField.default({}),
    tier: z.string().optional(),
    meta: objectField.optional(),
  }),
  run: ({ tenantTools }, given, { egress }) => tenantTools.call({ ...given, egress }),
});
