import type { ConnectedTool } from '../contracts/connected';
import { describeError } from '../errors/runtime-error';
import { buildConnectedTool } from '../tools/connected-tools';
import type { ExecuteOptions } from '../tools/execute-tool';
import { NO_TOOLS, type OfferedTool, type ToolSource } from './tool-source';

/** What a host has connected to one run. */
export function createConnectedSource(options: ExecuteOptions): ToolSource {
  return {
    offer: ({ connected }) =>
      connected.length === 0 ? NO_TOOLS : { tools: offered(connected, options), warnings: [], isOfRun: true },
  };
}

function offered(connected: readonly ConnectedTool[], options: ExecuteOptions): readonly OfferedTool[] {
  const seen = new Map<string, number>();
  return connected.map((tool) => {
    const { source = '', definition } = tool;
    const key = JSON.stringify([source, definition.name]);
    const place = seen.get(key) ?? 0;
    seen.set(key, place + 1);
    return {
      name: definition.name,
      identity: ['connected', source, definition.name, place],
      type: 'connected',
      build: (name) => buildConnectedTool(tool, name, options),
      unusable: (reason) => describeError('CONNECTED_TOOL_UNUSABLE', { tool: definition.name, reason }),
    };
  });
}
