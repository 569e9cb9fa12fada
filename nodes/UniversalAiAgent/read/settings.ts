import type { INode } from 'n8n-workflow';

import type { TaskItem } from '../../shared/item';

/** Parameters of their own in versions 1 and 2, options since version 3. */
export type MovedSetting = 'context' | 'identity' | 'inputMode' | 'modelProvider' | 'useRedis';

/** Also in JSON without a version, which n8n takes for the newest one. */
const areOptions = ({ typeVersion }: INode): boolean => !(typeVersion <= 2);

/** The setting as it was typed in. n8n drops options that are one expression; else they could hold any value of it. */
export function typedSetting(node: INode, name: MovedSetting): unknown {
  const { options } = node.parameters;
  if (!areOptions(node)) return node.parameters[name];
  return typeof options === 'object' && options !== null && !Array.isArray(options)
    ? (options as Readonly<Record<string, unknown>>)[name]
    : options;
}

/** The setting of an item; undefined or empty where it is not set. */
export function readSetting({ context, index, options }: TaskItem, name: MovedSetting): unknown {
  return areOptions(context.getNode()) ? options[name] : context.getNodeParameter(name, index, '');
}
