import { isDeepStrictEqual } from 'node:util';

import { type IDataObject, type INode, type ITaskData, traverseNodeParameters } from 'n8n-workflow';

/**
 * Reports whether a call that was approved is one that a person was shown, by the runs of the node that asked. n8n lays what the model
 * wrote over the name of the tool, so that a call of one tool could be shown and another one be made.
 */
export function isShownTo(
  runs: readonly ITaskData[] | undefined,
  { tool, arguments: written }: { readonly tool: string; readonly arguments: IDataObject },
): boolean {
  const shown = (runs ?? []).flatMap(({ inputOverride }) =>
    (inputOverride?.ai_tool?.[0] ?? []).map(({ json }) => ({
      name: json.tool,
      parameters: (json.toolParameters ?? {}) as IDataObject,
    })),
  );
  if (shown.some(({ parameters }) => Object.hasOwn(parameters, 'tool'))) return false;
  return shown.some(({ name, parameters }) => name === tool && isDeepStrictEqual(parameters, written));
}

/**
 * The parameters of a tool before which a node asks a person, as n8n wraps them: it does so for schemas of zod only, and calls a tool
 * with another one without its arguments.
 */
export function reviewedSchema(inputSchema: object, { parameters }: INode): object {
  const asked: Parameters<typeof traverseNodeParameters>[1] = [];
  traverseNodeParameters(parameters, asked);
  const fields = asked
    .filter(({ key }) => key !== 'toolParameters' && key !== 'tool')
    .map(
      ({ key, type = 'string', description }) => [key, { ...(type === 'json' ? {} : { type }), description }] as const,
    );
  const hitlParameters = { type: 'object', properties: Object.fromEntries(fields) };
  return {
    type: 'object',
    properties: { toolParameters: inputSchema, hitlParameters },
    required: ['toolParameters', 'hitlParameters'],
  };
}
