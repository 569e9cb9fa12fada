import type { ServerResponse } from 'node:http';

import { Ajv2020 } from 'ajv/dist/2020';

import { sendJson } from './http-server';
import type { ModelServerRequest } from './model-server';

type Schema = Readonly<Record<string, unknown>>;
type Tools = NonNullable<ModelServerRequest['tools']>;

/** Finds what a provider refuses of a request; undefined if it takes it. */
export type Rules = (request: ModelServerRequest) => { readonly status: number; readonly body: unknown } | undefined;

const bad = (body: object, status = 400): ReturnType<Rules> => ({ status, body });
const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** All schemas in a schema, with the path to each in the words of Google. */
function* schemasIn(schema: unknown, path = 'parameters'): Generator<readonly [Schema, string]> {
  if (!isObject(schema)) return;
  yield [schema, path];
  for (const [name, inner] of Object.entries(isObject(schema.properties) ? schema.properties : {}))
    yield* schemasIn(inner, `${path}.properties[${name}]`);
  for (const key of ['anyOf', 'oneOf', 'allOf', 'prefixItems'])
    for (const [no, inner] of (Array.isArray(schema[key]) ? (schema[key] as unknown[]) : []).entries())
      yield* schemasIn(inner, `${path}.any_of[${no}]`);
  yield* schemasIn(schema.items, `${path}.items`);
}

/** The first thing that is wrong with a tool, by its place in the list. */
function firstFault(
  tools: Tools,
  fault: (tool: Tools[number]['function']) => string | undefined,
): readonly [number, string] | undefined {
  for (const [index, { function: tool }] of tools.entries()) {
    const found = fault(tool);
    if (found !== undefined) return [index, found];
  }
  return undefined;
}

const ROOT = ['oneOf', 'anyOf', 'allOf', 'enum', 'not', 'const', '$ref'];

/** OpenAI: `invalid_function_parameters`, one tool a time. */
export const openai: Rules = ({ tools = [], model, parallel_tool_calls: parallel }) => {
  const fault = firstFault(tools, ({ parameters }) => {
    const root = parameters as Schema;
    if (root.type !== 'object' || ROOT.some((key) => key in root))
      return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.";
    if (!isObject(root.properties)) return 'In context=(), object schema missing properties.';
    for (const [{ type, items }, path] of schemasIn(root))
      if (type === 'array' && !isObject(items)) return `In context=('${path}'), array schema missing items.`;
    return undefined;
  });
  const of = { type: 'invalid_request_error' };
  if (fault !== undefined) {
    const [index, words] = fault;
    const message = `Invalid schema for function '${tools[index]?.function.name}': ${words}`;
    const param = `tools[${index}].function.parameters`;
    return bad({ error: { ...of, message, param, code: 'invalid_function_parameters' } });
  }
  if (!/(^|\/)o\d/.test(model) || parallel === undefined) return undefined;
  const message = "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.";
  return bad({ error: { ...of, message, param: 'parallel_tool_calls' } });
};

const drafts = new Ajv2020({ strict: false });

/** Anthropic: `tools.N.custom.input_schema`, one tool a time. */
export const anthropic: Rules = ({ tools = [] }) => {
  const fault = firstFault(tools, ({ parameters }) => {
    const root = parameters as Schema;
    if (['oneOf', 'anyOf', 'allOf'].some((key) => key in root))
      return 'input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level';
    const keys = Object.keys(isObject(root.properties) ? root.properties : {});
    if (keys.some((key) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(key)))
      return "input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'";
    if (root.type !== 'object') return 'input_schema.type: Field required';
    const { $schema: _draft, ...schema } = root;
    return drafts.validateSchema(schema) === true
      ? undefined
      : 'input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12.';
  });
  if (fault === undefined) return undefined;
  const message = `tools.${fault[0]}.custom.${fault[1]}`;
  return bad({ type: 'error', error: { type: 'invalid_request_error', message } });
};

const GEMINI_KEYS = new Set(
  'type format title description nullable enum maxItems minItems properties required minProperties maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum'.split(
    ' ',
  ),
);

/** Gemini: every fault at once, in a list of errors. */
export const gemini: Rules = ({ tools = [] }) => {
  const lines = tools.flatMap(({ function: { name, parameters } }, index) => {
    const place = `tools[0].function_declarations[${index}]`;
    const named = /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/.test(name) ? [] : [`${place}.name: Invalid function name.`];
    return [
      ...named,
      ...[...schemasIn(parameters)].flatMap(([schema, path]) => geminiFaults(schema, `${place}.${path}`)),
    ];
  });
  if (lines.length === 0) return undefined;
  return bad([
    { error: { code: 400, message: lines.map((line) => `* ${line}\n`).join(''), status: 'INVALID_ARGUMENT' } },
  ] as never);
};

function geminiFaults(schema: Schema, path: string): readonly string[] {
  const { type, enum: values, items, required = [], properties = {}, format, anyOf } = schema;
  const unknown = Object.keys(schema).filter((key) => !GEMINI_KEYS.has(key));
  const checks: [boolean, string][] = [
    ...unknown.map((key): [boolean, string] => [true, `Unknown name "${key}" at '${path}': Cannot find field.`]),
    [Array.isArray(type), `Unknown name "type" at '${path}': Proto field is not repeating, cannot start list.`],
    [type === undefined && anyOf === undefined, `${path}.type: must be specified when not using any_of`],
    [anyOf !== undefined && Object.keys(schema).length > 1, `${path}: any_of must be the only field set`],
    [values !== undefined && type !== 'string', `${path}.enum: only allowed for STRING type`],
    [
      Array.isArray(values) && values.some((one) => typeof one !== 'string' || one === ''),
      `${path}.enum[0]: cannot be empty`,
    ],
    [type === 'array' && !isObject(items), `${path}.items: missing field.`],
    [
      (required as string[]).some((name) => !Object.hasOwn(properties as object, name)),
      `${path}.required[0]: property is not defined`,
    ],
    [
      type === 'string' && format !== undefined && !['enum', 'date-time'].includes(format as string),
      `${path}.format: only 'enum' and 'date-time' are supported for STRING type`,
    ],
  ];
  return checks.filter(([isFault]) => isFault).map(([, words]) => words);
}

/** Mistral: a fixed order of roles, ids of nine characters. */
export const mistral: Rules = ({ messages }) => {
  const order = { type: 'invalid_request_message_order', param: null, code: '3230' };
  for (const [index, { role }] of messages.entries()) {
    const before = messages[index - 1]?.role;
    const isWrong = (role === 'user' && before === 'tool') || (role === 'system' && before !== undefined);
    if (isWrong) return bad({ object: 'error', message: `Unexpected role '${role}' after role '${before}'`, ...order });
  }
  const ids = messages.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id));
  const odd = ids.find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
  const words = `Tool call id was ${odd} but must be a-z, A-Z, 0-9, with a length of 9.`;
  return odd === undefined
    ? undefined
    : bad({ object: 'error', message: words, type: 'invalid_function_call', code: '3280' });
};

/** The templates of Qwen and others, by llama.cpp and vLLM. */
export const template: Rules = ({ messages }) => {
  const [, ...behind] = messages;
  if (behind.some(({ role }) => role === 'system'))
    return bad({ object: 'error', message: 'System message must be at the beginning.', code: 400 });
  const turns = messages.map(({ role }) => role).filter((role) => role !== 'system');
  const isTwice = turns.some((role, index) => role !== 'tool' && role === turns[index - 1]);
  const message = 'Conversation roles must alternate user/assistant/user/assistant/...';
  return isTwice ? bad({ error: { code: 500, message, type: 'server_error' } }, 500) : undefined;
};

/** Sends what the rules refuse, else lets `answer` do it. */
export const refusing =
  (rules: Rules, answer: (response: ServerResponse, request: ModelServerRequest) => unknown) =>
  (response: ServerResponse, request: ModelServerRequest): unknown => {
    const refused = rules(request);
    return refused === undefined ? answer(response, request) : sendJson(response, refused.body, refused.status);
  };
