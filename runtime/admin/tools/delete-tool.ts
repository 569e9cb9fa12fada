import * as z from 'zod/v4';

import { RuntimeError } from '../../errors/runtime-error';
import { deleteToolStatement } from '../../storage/sql/admin/manage-tools';
import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { OF_CATALOGUE, readTool } from './tool-rows';

export const deleteTool = operation({
  name: 'tool.delete',
  title: 'Delete',
  action: 'Delete a tool',
  description: 'Delete a tool that no tenant has',
  input: strictObject({ code: z.string().min(1).max(200).meta(OF_CATALOGUE) }),
  run: async ({ postgres: { transaction } }, { code }) => {
    await transaction(async (query) => {
      const { tenants } = await readTool(query, code);
      if (tenants > 0) throw new RuntimeError('TOOL_IN_USE', { tool: code, tenants });
      await query(deleteToolStatement(code));
    });
    return { code, deleted: true as const };
  },
});
