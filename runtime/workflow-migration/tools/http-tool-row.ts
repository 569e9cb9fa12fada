import { parseExactly } from '../../util/exact-integer';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json';
import { readArgumentText } from '../expressions/from-ai';
import { isExpression } from '../parameters';
import { type Body, type Pair, restRow } from './rest-row';
import type { MigratedToolRow, Refusal, RowRequest } from './tool-row';

/** The HTTP Request node as a tool: what the model gives stands in its expressions as `$fromAI(...)`. */
export function httpToolRow(request: RowRequest): MigratedToolRow | Refusal {
  const { parameters } = request.node;
  return restRow(request, {
    url: readArgumentText(parameters.url),
    query: readPairs(parameters, 'Query'),
    headers: readPairs(parameters, 'Headers'),
    body: parameters.sendBody === true ? readBody(parameters) : 'none',
  });
}

const LISTS = { Query: 'queryParameters', Headers: 'headerParameters', Body: 'bodyParameters' } as const;

/** Undefined when they cannot be read; empty when none are sent. */
function readPairs(parameters: JsonObject, what: keyof typeof LISTS): readonly Pair[] | undefined {
  if (parameters[`send${what}`] !== true) return [];
  if ((parameters[`specify${what}`] ?? 'keypair') !== 'keypair') return undefined;
  const list = parameters[LISTS[what]];
  const rows = isJsonObject(list) ? list.parameters : [];
  if (!Array.isArray(rows)) return undefined;
  const pairs = rows.map((row: JsonValue) => readPair(row)).filter((pair) => pair !== undefined);
  const isComplete = pairs.length === rows.length && new Set(pairs.map(({ name }) => name)).size === pairs.length;
  return isComplete ? pairs : undefined;
}

function readPair(row: JsonValue): Pair | undefined {
  if (!isJsonObject(row)) return undefined;
  const { name, value = '' } = row;
  const text = readArgumentText(value);
  const isPlainName = typeof name === 'string' && name !== '' && !isExpression(name) && name !== '__proto__';
  return text === undefined || !isPlainName ? undefined : { name, value: text };
}

function readBody(parameters: JsonObject): Body | undefined {
  if ((parameters.contentType ?? 'json') !== 'json') return undefined;
  if (parameters.specifyBody === 'json') return readJsonBody(parameters.jsonBody);
  const pairs = readPairs(parameters, 'Body');
  if (pairs === undefined) return undefined;
  const value = Object.fromEntries(pairs.map((pair) => [pair.name, pair.value.template]));
  return { value, arguments: pairs.flatMap((pair) => pair.value.arguments) };
}

/** Arguments may stand within texts of the JSON, where they are texts. */
function readJsonBody(parameter: JsonValue | undefined): Body | undefined {
  const text = readArgumentText(parameter);
  if (text === undefined || text.arguments.some(({ type }) => type !== 'string')) return undefined;
  try {
    const value = parseExactly(text.template) as JsonValue;
    return isJsonObject(value) ? { value, arguments: text.arguments } : undefined;
  } catch {
    return undefined;
  }
}
