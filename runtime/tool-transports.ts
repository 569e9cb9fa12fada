import type { ParsedConfig } from './config';
import { createRedisReader } from './storage/redis';
import type { ToolBuilderOptions } from './tools/build-tools';
import { createBuiltinTransport } from './tools/builtin-transport';
import { createHookTransport } from './tools/hook-transport';
import { createRestTransport } from './tools/rest-transport';
import { createWorkflowTransport } from './tools/workflow-transport';

export interface ToolTransports {
  readonly transports: ToolBuilderOptions['transports'];
  readonly close: () => Promise<unknown>;
}

/** Every way to reach the tools of the catalogue but MCP, with what built-in tools work with. Connects to nothing yet. */
export function createToolTransports({ redis }: Pick<ParsedConfig, 'redis'>): ToolTransports {
  const keys = redis === undefined ? undefined : createRedisReader(redis);
  const transports = {
    hook: createHookTransport(),
    rest: createRestTransport(),
    workflow: createWorkflowTransport(),
    builtin: createBuiltinTransport({ keys }),
  };
  const closers = [...Object.values(transports).map(({ close }) => close), ...(keys === undefined ? [] : [keys.close])];
  return { transports, close: () => Promise.allSettled(closers.map((close) => close())) };
}
