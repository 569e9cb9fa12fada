import * as z from 'zod/v4';

import type { CatalogueEntry } from '../../storage/sql/admin/manage-tools';
import { lockName } from '../../storage/sql/admin/write-row';
import type { Query } from '../../storage/statement';
import type { AdminHost } from '../contract/host';
import { operation } from '../operation';
import { tenantIdField } from '../read-input';
import { giveTool } from './tenant-tools';
import { alterTool, changedTransport, checkedTool, insertTool, toolInput, toolShape } from './tool-rows';

const shape = { ...toolShape, enableFor: z.array(tenantIdField).default([]).meta({ panel: 'enableFor' }) };
const input = toolInput(shape);

export const createTool = operation({
  name: 'tool.create',
  title: 'Create',
  action: 'Create a tool',
  description: 'Add a tool to the catalogue',
  input,
  run: ({ postgres: { transaction } }, given, host) =>
    transaction(async (query) => {
      await insertTool(query, given);
      return enabled(query, given, host);
    }),
});

export const setTool = operation({
  name: 'tool.set',
  title: 'Create or Update',
  action: 'Create or update a tool',
  description: 'Add a tool, or update the one with this code; safe to repeat',
  input: toolInput({ ...shape, transport: changedTransport('Unchanged, or Hook') }),
  run: ({ postgres: { transaction } }, given, host) =>
    transaction(async (query) => {
      await query(lockName({ kind: 'tool', name: given.code }));
      if (!(await alterTool(query, given))) await insertTool(query, given);
      return enabled(query, given, host);
    }),
});

/** Gives the tool to the tenants, in one order for all processes, and checks it. */
async function enabled(
  query: Query,
  { code, enableFor }: z.output<typeof input>,
  host: AdminHost,
): Promise<CatalogueEntry> {
  for (const tenantId of [...enableFor].sort()) await giveTool(query, { tenantId, code }, host);
  return checkedTool(query, code, host);
}
