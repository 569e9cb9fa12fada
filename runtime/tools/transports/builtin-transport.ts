import type { ToolRow } from '../../contracts/tenant';
import type { ConfiguredTransport, PreparedTool, ToolSettings } from '../../contracts/tools/tool-transport';
import type { BuiltinPorts, BuiltinTool } from '../builtin/builtin-tool';
import { BUILTIN_TOOLS } from '../builtin/builtin-tools';
import { createServerPools } from './hook-transport';

/** Tools that this process carries out itself. Which one is decided by the catalogue, never by the tenant. */
export function createBuiltinTransport(given: Omit<BuiltinPorts, 'dispatcher'> = {}): ConfiguredTransport {
  const dispatcher = createServerPools();
  const ports = { ...given, dispatcher };
  return {
    prepare: (settings, row) => prepareBuiltin(settings, row, ports),
    close: () => dispatcher.destroy(),
  };
}

function prepareBuiltin(given: ToolSettings, row: ToolRow, ports: BuiltinPorts): PreparedTool {
  const tool = findBuiltin(row);
  const settings = {
    ...given,
    description: given.description === '' ? tool.description : given.description,
    inputSchema:
      row.parametersSchema === null || row.parametersSchema === undefined ? tool.inputSchema : given.inputSchema,
  };
  const { isRepeatable, setsVariables } = tool;
  // What may be repeated whatever its arguments are only reads.
  return {
    settings,
    isRepeatable,
    isReadOnly: isRepeatable === true,
    setsVariables,
    call: tool.prepare(settings, ports),
  };
}

/** The built-in tool that a row names. Throws an Error when there is none. */
export function findBuiltin({ code, transportConfig }: Pick<ToolRow, 'code' | 'transportConfig'>): BuiltinTool {
  const name = transportConfig.builtin ?? code;
  const tool = typeof name === 'string' && Object.hasOwn(BUILTIN_TOOLS, name) ? BUILTIN_TOOLS[name] : undefined;
  if (tool === undefined) throw new Error(`there is no built-in tool ${JSON.stringify(name)}`);
  return tool;
}
