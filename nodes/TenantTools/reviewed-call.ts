import { isDeepStrictEqual } from 'node:util';

import { type IDataObject, type INode, type ITaskData, traverseNodeParameters } from 'n8n-workflow';

interface Call {
  readonly tool: string;
  readonly arguments: IDataObject;
}

/** Runs of the node that asks a person, and those of the node with the tools before this one. */
interface Before {
  readonly asked?: readonly ITaskData[];
  readonly called?: readonly ITaskData[];
}

/**
 * Reports whether a call is one that a person has approved as it was shown, once for each approval. n8n lays what the model wrote over
 * what is shown, so that a call of one tool could be shown and another one be made.
 */
export function isShown(review: INode, { asked = [], called = [] }: Before, call: Call): boolean {
  const fields = askedBy(review).map(({ key }) => key);
  const approved = asked.filter(isApproved).flatMap(shownIn);
  const given = approved.filter((shown) => isSame(shown, call) && isPlain(shown, fields)).length;
  const { tool, arguments: written } = call;
  const made = called
    .filter(({ source }) => source[0]?.previousNode === review.name)
    .flatMap(shownIn)
    .filter((shown) => isDeepStrictEqual(shown, { ...written, tool })).length;
  return made < given;
}

function isSame({ tool: name, toolParameters }: IDataObject, { tool, arguments: written }: Call): boolean {
  return name === tool && isDeepStrictEqual(parametersOf(toolParameters), written);
}

/** Nothing but the question's own fields is beside the call. Were `query` an object, n8n would read the fields from it. */
function isPlain(
  { tool: _tool, toolParameters: _parameters, ...more }: IDataObject,
  fields: readonly string[],
): boolean {
  return Object.entries(more).every(
    ([key, value]) => fields.includes(key) && (key !== 'query' || typeof value !== 'object'),
  );
}

/** A node that n8n passes through, since its time is up or another review of it was answered, gives back what it was asked. */
function isApproved({ data }: ITaskData): boolean {
  const answer = data?.ai_tool?.[0]?.[0]?.json ?? {};
  if (['tool', 'toolCallId', 'toolParameters'].some((key) => Object.hasOwn(answer, key))) return false;
  return answer.approved === true || (answer.data as IDataObject | undefined)?.approved === true;
}

function shownIn({ inputOverride }: ITaskData): readonly IDataObject[] {
  return (inputOverride?.ai_tool?.[0] ?? []).map(({ json }) => json);
}

function parametersOf(given: unknown): IDataObject {
  return (given ?? {}) as IDataObject;
}

type Asked = Parameters<typeof traverseNodeParameters>[1];

/** Fields of the question that a model is to write. */
function askedBy({ parameters }: INode): Asked {
  const asked: Asked = [];
  traverseNodeParameters(parameters, asked);
  return asked.filter(({ key }) => key !== 'toolParameters' && key !== 'tool');
}

/**
 * The parameters of a tool before which a node asks a person, as n8n wraps them: it does so for schemas of zod only, and calls a tool
 * with another one without its arguments.
 */
export function reviewedSchema(inputSchema: object, review: INode): object {
  const fields = askedBy(review).map(
    ({ key, type = 'string', description }) => [key, { ...(type === 'json' ? {} : { type }), description }] as const,
  );
  const hitlParameters = { type: 'object', properties: Object.fromEntries(fields), additionalProperties: false };
  return {
    type: 'object',
    properties: { toolParameters: inputSchema, hitlParameters },
    required: ['toolParameters', 'hitlParameters'],
    additionalProperties: false,
  };
}
