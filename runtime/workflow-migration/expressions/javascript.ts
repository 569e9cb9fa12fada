import { isJsonObject, type JsonValue } from '../../util/json';

/**
 * A JavaScript literal that may stand in an n8n expression: without double braces, which would end it, without
 * `.constructor`, which n8n refuses anywhere in an expression, and without characters that some parsers take for
 * line ends.
 */
export function literal(value: JsonValue): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map((item: JsonValue) => literal(item)).join(', ')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, inner]) => `[${quoted(key)}]: ${literal(inner)}`);
  return `({ ${fields.join(', ')} })`;
}

function quoted(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${inner
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029')
    .replaceAll('{{', '{\\u007b')
    .replaceAll('}}', '}\\u007d')
    .replace(/(\.\s*)c(?=onstructor)/g, '$1\\u0063')}'`;
}
