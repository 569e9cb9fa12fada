import type { ToolSettings, TransportCall, TransportReply } from '../../contracts/tools/tool-transport';
import { RuntimeError } from '../../errors/runtime-error';
import type { JsonObject, JsonValue } from '../../util/json';
import type { BuiltinTool } from './builtin-tool';
import { configOf, readConfig } from './read-config';

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const PROTOTYPE_KEYS: readonly JsonValue[] = ['__proto__', 'constructor', 'prototype'];
const MAX_VARIABLES = 100;
const MAX_TOTAL_BYTES = 64 * 1024;

const configSchema = configOf({});

/** Leaves a value for whoever reads the result of the run: `variables` of AgentResult. */
export const setVariable: BuiltinTool = {
  description: 'Sets a named variable in the result of this run, for the workflow that goes on with it.',
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Letters, digits and underscores' },
      value: { description: 'Any JSON value' },
    },
    required: ['name', 'value'],
    additionalProperties: false,
  },
  isRepeatable: true,
  config: configSchema,
  prepare: (settings) => {
    readConfig(configSchema, settings);
    return (call) => new Promise((resolve) => resolve(set(settings, call)));
  },
};

function set(settings: ToolSettings, { input, variables }: TransportCall): TransportReply {
  const { name, value = null } = input;
  const refuse = (issues: string): never => {
    throw new RuntimeError('TOOL_INVALID_ARGS', { tool: settings.name, issues });
  };
  if (typeof name !== 'string' || !NAME.test(name) || PROTOTYPE_KEYS.includes(name)) {
    return refuse('name must be 1 to 64 letters, digits and underscores, and begin with no digit');
  }
  if (!variables.has(name) && variables.size >= MAX_VARIABLES) return refuse(`only ${MAX_VARIABLES} variables fit`);
  if (sizeWith(variables, name, value) > MAX_TOTAL_BYTES) {
    return refuse(`all variables together are longer than ${MAX_TOTAL_BYTES} bytes`);
  }
  variables.set(name, value);
  return { text: JSON.stringify({ name, value } satisfies JsonObject), isCut: false };
}

function sizeWith(variables: ReadonlyMap<string, JsonValue>, name: string, value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify([...new Map(variables).set(name, value)]));
}
