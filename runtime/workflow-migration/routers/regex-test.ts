import { literal } from '../expressions/javascript';

/** What n8n does with a pattern, written as `/source/flags` or bare, and a text. */
export function regexTest(pattern: string, text: string): string {
  const [, source = pattern, flags = ''] = /^\/(.*?)\/([gimusy]*)$/.exec(pattern) ?? [];
  return `new RegExp(${literal(source)}, ${literal(flags)}).test(${text})`;
}
