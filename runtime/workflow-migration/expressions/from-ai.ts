import { splitExpression } from './split-expression';

/** An argument that the model gives: `$fromAI('city', 'Name of the city', 'string')`. */
export interface ModelArgument {
  readonly key: string;
  readonly description: string;
  readonly type: 'string' | 'number' | 'boolean';
  readonly isOptional?: boolean;
}

/** Text with `{{key}}` where an argument goes, as the tools of the database have it. */
export interface ArgumentText {
  readonly template: string;
  readonly arguments: readonly ModelArgument[];
}

const KEY = /^[a-zA-Z0-9_-]{1,64}$/;
const STRING = String.raw`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|` + '`(?:[^`\\\\$]|\\\\.)*`';
const CALL = new RegExp(
  String.raw`^(?:/\*[^*]*\*/)?\s*\$from(?:AI|Ai|ai)\(\s*(${STRING})\s*(?:,\s*(${STRING})\s*)?(?:,\s*(${STRING})\s*)?,?\s*\)\s*;?\s*$`,
  's',
);

/** Undefined when something in it is neither text nor a plain argument, which no template could say. */
export function readArgumentText(parameter: unknown): ArgumentText | undefined {
  if (typeof parameter === 'number' || typeof parameter === 'boolean')
    return { template: String(parameter), arguments: [] };
  if (typeof parameter !== 'string') return undefined;
  const pieces = parameter.startsWith('=') ? splitExpression(parameter) : [{ kind: 'text' as const, text: parameter }];
  if (pieces === undefined) return undefined;
  const found: ModelArgument[] = [];
  let template = '';
  for (const { kind, text } of pieces) {
    if (kind === 'text') {
      // Braces of the text would be read as a place for an argument.
      if (text.includes('{{')) return undefined;
      template += text;
      continue;
    }
    const argument = readCall(text);
    if (argument === undefined) return undefined;
    found.push(argument);
    template += `{{${argument.key}}}`;
  }
  return { template, arguments: found };
}

function readCall(code: string): ModelArgument | undefined {
  const match = CALL.exec(code.trim());
  if (match === null) return undefined;
  const [, key = '', description = '""', type = '"string"'] = match;
  const name = unquote(key);
  const kind = unquote(type);
  if (!KEY.test(name) || (kind !== 'string' && kind !== 'number' && kind !== 'boolean')) return undefined;
  return { key: name, description: unquote(description).trim(), type: kind };
}

function unquote(literal: string): string {
  const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };
  return literal.slice(1, -1).replace(/\\(.)/gs, (_match, char: string) => escapes[char] ?? char);
}
