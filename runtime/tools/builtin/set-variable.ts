import { RuntimeError } from '../../errors/runtime-error';
import type { JsonObject } from '../../util/json';
import { storeVariable } from '../../util/variables/store';
import type { BuiltinTool } from './builtin-tool';
import { plainTool } from './read-config';

/** Sets a variable of the run: for arguments of later calls, skills, and whoever reads `variables` of AgentResult. */
export const setVariable: BuiltinTool = {
  description:
    'Sets a named variable of this run. Write {{name}} in an argument of a later tool call to pass its value on. The workflow that goes on gets all variables.',
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Letters, digits, _ and -' },
      value: { description: 'Any JSON value' },
    },
    required: ['name', 'value'],
    additionalProperties: false,
  },
  setsVariables: true,
  ...plainTool((tool, { input: { name, value = null }, variables }) => {
    const issues = typeof name === 'string' ? storeVariable(variables, name, value) : 'name must be string';
    if (issues !== undefined) throw new RuntimeError('TOOL_INVALID_ARGS', { tool, issues });
    return { text: JSON.stringify({ name, value } satisfies Partial<JsonObject>), isCut: false };
  }),
};
