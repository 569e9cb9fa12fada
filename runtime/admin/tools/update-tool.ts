import type * as z from 'zod/v4';

import { operation } from '../operation';
import { unknownTool } from './tenant-tools';
import { alterTool, changedTransport, checkedTool, OF_CATALOGUE, readTool, toolInput, toolShape } from './tool-rows';

const shape = { ...toolShape, code: toolShape.code.meta(OF_CATALOGUE), transport: changedTransport('Unchanged') };
const input = toolInput(shape);

export const updateTool = operation({
  name: 'tool.update',
  title: 'Update',
  action: 'Update a tool',
  description: 'Change a tool of the catalogue',
  input,
  run: ({ postgres: { transaction } }, given, host) =>
    transaction(async (query) => {
      if (!(await alterTool(query, given))) throw await unknownTool(query, given.code);
      return isStopping(given) ? readTool(query, given.code) : checkedTool(query, given.code, host);
    }),
});

/** Returns true for a change that only deactivates the tool; it skips all checks. */
function isStopping({ code: _code, isActive, ...more }: z.output<typeof input>): boolean {
  return isActive === false && Object.values(more).every((value: unknown) => value === undefined);
}
