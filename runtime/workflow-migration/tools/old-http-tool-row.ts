import { isJsonObject, type JsonObject, type JsonValue, objectsIn } from '../../util/json';
import type { ArgumentText, ModelArgument } from '../expressions/from-ai';
import { isExpression, parameterAt } from '../parameters';
import { type Body, type Pair, restRow } from './rest-row';
import type { MigratedToolRow, Refusal, RowRequest } from './tool-row';

/** Before it, the model was given all arguments as one text. */
const WITH_SCHEMA_FROM = 1.1;
const PLACEHOLDER = /\{([a-zA-Z0-9_-]+)\}/g;
const KEY = /^[a-zA-Z0-9_-]{1,64}$/;

/** The first HTTP Request Tool: what the model gives stands as `{name}`, or is a whole value of the list. */
export function oldHttpToolRow(request: RowRequest): MigratedToolRow | Refusal {
  const { node } = request;
  const { parameters } = node;
  if (node.typeVersion < WITH_SCHEMA_FROM) return { why: 'its version gives the model all arguments as one text.' };
  const known = readDefinitions(parameters);
  const query = readPairs(parameters, 'Query', known);
  const headers = readPairs(parameters, 'Headers', known);
  return restRow(request, {
    url: readText(parameters.url, known),
    query,
    headers,
    body: parameters.sendBody === true ? readBody(readPairs(parameters, 'Body', known)) : 'none',
  });
}

type Definitions = ReadonlyMap<string, ModelArgument | undefined>;

/** Undefined for one whose type a row cannot have. */
function readDefinitions(parameters: JsonObject): Definitions {
  const values = parameterAt(parameters, 'placeholderDefinitions.values');
  const rows = objectsIn(values);
  return new Map(
    rows.map(({ name, type, description }) => {
      const key = (typeof name === 'string' ? name : '').replace(/^\{(.*)\}$/, '$1');
      const text = typeof description === 'string' ? description : '';
      return [key, isExpression(description) ? undefined : argumentOf(key, type, text)] as const;
    }),
  );
}

function argumentOf(key: string, type: JsonValue | undefined, description: string): ModelArgument | undefined {
  if (!KEY.test(key) || type === 'json') return undefined;
  return { key, description, type: type === 'number' || type === 'boolean' ? type : 'string' };
}

function lookUp(key: string, known: Definitions): ModelArgument | undefined {
  return known.has(key) ? known.get(key) : argumentOf(key, 'string', '');
}

function readText(value: JsonValue | undefined, known: Definitions): ArgumentText | undefined {
  if (typeof value !== 'string' || isExpression(value) || value.includes('{{')) return undefined;
  const found = Array.from(value.matchAll(PLACEHOLDER), ([, key = '']) => lookUp(key, known));
  if (found.includes(undefined)) return undefined;
  return { template: value.replace(PLACEHOLDER, '{{$1}}'), arguments: found as readonly ModelArgument[] };
}

function readPairs(
  parameters: JsonObject,
  what: 'Query' | 'Headers' | 'Body',
  known: Definitions,
): readonly Pair[] | undefined {
  if (parameters[`send${what}`] !== true) return [];
  if ((parameters[`specify${what}`] ?? 'keypair') !== 'keypair') return undefined;
  const values = parameterAt(parameters, `parameters${what}.values`) ?? [];
  if (!Array.isArray(values)) return undefined;
  const pairs = (values as readonly JsonValue[])
    .map((row) => readPair(row, known))
    .filter((pair) => pair !== undefined);
  const isComplete = pairs.length === values.length && new Set(pairs.map(({ name }) => name)).size === pairs.length;
  return isComplete ? pairs : undefined;
}

function readPair(row: JsonValue, known: Definitions): Pair | undefined {
  if (!isJsonObject(row)) return undefined;
  const { name, value = '', valueProvider = 'modelRequired' } = row;
  if (typeof name !== 'string' || name === '' || isExpression(name) || name === '__proto__') return undefined;
  const text = valueProvider === 'fieldValue' ? readText(value, known) : readWhole(name, valueProvider, known);
  return text && { name, value: text };
}

/** A value that the model gives as a whole. */
function readWhole(name: string, provider: JsonValue, known: Definitions): ArgumentText | undefined {
  const argument = lookUp(name, known);
  if (argument === undefined || (provider !== 'modelRequired' && provider !== 'modelOptional')) return undefined;
  return { template: `{{${name}}}`, arguments: [{ ...argument, isOptional: provider === 'modelOptional' }] };
}

/** Reads a body; within a fixed value an argument is text to n8n, whatever its type. */
function readBody(pairs: readonly Pair[] | undefined): Body | undefined {
  if (pairs === undefined) return undefined;
  const found = pairs.flatMap(({ value }) => value.arguments);
  const isWhole = ({ name, value }: Pair): boolean => value.template === `{{${name}}}`;
  if (pairs.some((pair) => !isWhole(pair) && pair.value.arguments.some(({ type }) => type !== 'string')))
    return undefined;
  return { value: Object.fromEntries(pairs.map(({ name, value }) => [name, value.template])), arguments: found };
}
