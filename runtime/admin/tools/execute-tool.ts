import * as z from 'zod/v4';

import type { ToolOutput } from '../../contracts/tools/tool-shapes';
import { type ErrorSummary, RuntimeError } from '../../errors/runtime-error';
import { isJsonObject, type JsonValue } from '../../util/json';
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
    tool: z.string().min(1).meta({ picker: 'tenantTool', description: 'A tool that the tenant has' }),
    arguments: objectField.default({}).meta({ panel: 'argumentsOfCall' }),
    tier: z.string().optional().meta({ group: 'more', picker: 'tier' }),
    agent: z.string().optional().meta({ group: 'more' }),
    meta: objectField.optional().meta({ group: 'more', title: 'Identity' }),
  }),
  run: async ({ tenantTools }, given, { egress }) => {
    const output = await tenantTools.call({ ...given, egress });
    if (output.isError) throw failureOf(output);
    return { result: output.value };
  },
});

/** The error with what a model would be told. */
function failureOf({ code = 'TOOL_FAILED', value }: ToolOutput): RuntimeError {
  const told: Readonly<Partial<Record<keyof ErrorSummary, JsonValue>>> = isJsonObject(value) ? value : {};
  const { message = JSON.stringify(value), hint = '' } = told;
  return Object.assign(new RuntimeError(code), { message, hint });
}
