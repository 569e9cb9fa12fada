import { isDeepStrictEqual } from 'node:util';

import { type IDataObject, type INode, type ITaskData, traverseNodeParameters } from 'n8n-workflow';

/**
 * Reports whether a call is one that a person has approved as it was shown, by the runs of the node that asked. n8n lays what the model
 * wrote over what is shown, so that a call of one tool could be shown and another one be made.
 */
export function isShown(
  review: INode,
  runs: readonly ITaskData[] = [],
  { tool, arguments: written }: { readonly tool: string; readonly arguments: IDataObject },
): boolean {
  const asked = keysAsked(review);
  const approved = runs.filter(isApproved).flatMap(shownIn);
  // One that names another tool in its arguments is called under that name.
  if (approved.some(({ toolParameters }) => Object.hasOwn(parametersOf(toolParameters), 'tool'))) return false;
  return approved.some(
    ({ tool: name, toolParameters, ...more }) =>
      name === tool &&
      isDeepStrictEqual(parametersOf(toolParameters), written) &&
      // What n8n reads the question's fields from is an object in `query`.
      Object.entries(more).every(
        ([key, value]) => asked.includes(key) && (key !== 'query' || typeof value !== 'object'),
      ),
  );
}

function isApproved({ data }: ITaskData): boolean {
  const { approved, data: inner } = data?.ai_tool?.[0]?.[0]?.json ?? {};
  return approved === true || (inner as IDataObject | undefined)?.approved === true;
}

function shownIn({ inputOverride }: ITaskData): readonly IDataObject[] {
  return (inputOverride?.ai_tool?.[0] ?? []).map(({ json }) => json);
}

function parametersOf(given: unknown): IDataObject {
  return (given ?? {}) as IDataObject;
}

type Asked = Parameters<typeof traverseNodeParameters>[1];

/** What a model is to write into the question. */
function askedBy({ parameters }: INode): Asked {
  const asked: Asked = [];
  traverseNodeParameters(parameters, asked);
  return asked.filter(({ key }) => key !== 'toolParameters' && key !== 'tool');
}

function keysAsked(review: INode): readonly string[] {
  return askedBy(review).map(({ key }) => key);
}

/**
 * The parameters of a tool before which a node asks a person, as n8n wraps them: it does so for schemas of zod only, and calls a tool
 * with another one without its arguments.
 */
export function reviewedSchema(inputSchema: object, review: INode): object {
  const fields = askedBy(review).map(
    ({ key, type = 'string', description }) => [key, { ...(type === 'json' ? {} : { type }), description }] as const,
  );
  const hitlParameters = { type: 'object', properties: Object.fromEntries(fields) };
  return {
    type: 'object',
    properties: { toolParameters: inputSchema, hitlParameters },
    required: ['toolParameters', 'hitlParameters'],
  };
}
