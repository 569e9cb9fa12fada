import * as z from 'zod/v4';

import type { ToolSettings, TransportCall, TransportReply } from '../../contracts/tools/tool-transport';
import { strictObject } from '../../util/known-keys';
import { parseSetting } from '../../util/parse-setting';
import type { BuiltinTool } from './builtin-tool';

/** Keys of transport_config that every built-in tool has: which one it is, and what holds for tools of all transports. */
const SHARED = { builtin: z.unknown(), repeatable: z.unknown(), read_only: z.unknown(), store_as: z.unknown() };

/** The schema of a built-in tool's transport_config. */
export function configOf<T extends z.core.$ZodLooseShape>(own: T): z.ZodObject<T & typeof SHARED, z.core.$strict> {
  return strictObject({ ...SHARED, ...own });
}

/** The row's transport_config by that schema. Throws an Error that names the field, never its value. */
export function readConfig<T extends z.ZodType>(schema: T, { config }: ToolSettings): z.output<T> {
  return parseSetting(schema, config, 'transport_config');
}

const NOTHING = configOf({});

/** Returns what a tool without settings of its own needs, repeatable whatever its arguments. `call` gets the name of the tool. */
export function plainTool(
  call: (tool: string, call: TransportCall) => TransportReply,
): Pick<BuiltinTool, 'isRepeatable' | 'config' | 'prepare'> {
  return {
    isRepeatable: true,
    config: NOTHING,
    prepare: (settings) => {
      readConfig(NOTHING, settings);
      return (made) => call(settings.name, made);
    },
  };
}
