import { RuntimeError } from '../../errors/runtime-error';
import { listKeys } from '../../util/known-keys';
import type { BuiltinTool } from './builtin-tool';
import { plainTool } from './read-config';

/** Reads a variable of the run back: one of the task, or one that a tool has set. */
export const getVariable: BuiltinTool = {
  description: 'Gets the value of a variable of this run; without a name, the names of all.',
  inputSchema: {
    type: 'object',
    properties: { name: { type: 'string', description: 'The name of the variable' } },
    additionalProperties: false,
  },
  ...plainTool((tool, { input: { name }, variables }) => {
    const names = [...variables.keys()];
    if (name === undefined || name === null || name === '') return { text: JSON.stringify({ names }), isCut: false };
    const value = typeof name === 'string' ? variables.get(name) : undefined;
    if (value !== undefined) return { text: JSON.stringify({ name, value }), isCut: false };
    const issues = `there is no such variable; there is ${names.length === 0 ? 'none' : listKeys(names)}`;
    throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues });
  }),
};
