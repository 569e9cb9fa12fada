import type * as z from 'zod/v4';

import { strictObject } from '../../util/known-keys';
import { operation } from '../operation';
import { unknownTool } from './tenant-tools';
import {
  alterTool,
  BOTH_SCHEMAS,
  changedTransport,
  checkedTool,
  isOneSchema,
  OF_CATALOGUE,
  readTool,
  toolShape,
} from './tool-rows';

const shape = { ...toolShape, code: toolShape.code.meta(OF_CATALOGUE), transport: changedTransport('Unchanged') };
const input = strictObject(shape).refine(isOneSchema, BOTH_SCHEMAS);

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
