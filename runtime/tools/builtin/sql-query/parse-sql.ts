import type { PgQueryModule } from 'libpg-query/wasm/libpg-query.js';

import type { JsonObject } from '../../../util/json';

/** The tree of Postgres' own grammar, as libpg_query writes it: `{stmts: [{stmt, stmt_location, stmt_len}]}`. */
type ParsedSql = { readonly ok: true; readonly tree: JsonObject } | { readonly ok: false; readonly reason: string };

let loading: Promise<PgQueryModule> | undefined;

/** Parses statements, or says why Postgres would not. Nothing is loaded before the first call. */
export async function parseSql(text: string): Promise<ParsedSql> {
  const current = (loading ??= load());
  const parser = await current;
  // Somebody else has spoilt it meanwhile.
  if (loading !== current) return parseSql(text);
  try {
    return parse(parser, text);
  } catch (error) {
    // Its stack is not what it was, so nobody uses this one again.
    loading = undefined;
    if (isOverflow(error)) return { ok: false, reason: 'it is nested too deeply' };
    throw error;
  }
}

/** Whether the stack overflowed, that of JavaScript or WebAssembly's own. */
function isOverflow(error: unknown): boolean {
  return error instanceof Error && (error.name === 'RangeError' || error.name === 'RuntimeError');
}

async function load(): Promise<PgQueryModule> {
  try {
    const { default: createModule } = await import('libpg-query/wasm/libpg-query.js');
    return await createModule();
  } catch (error) {
    loading = undefined;
    throw error;
  }
}

const POINTER_BYTES = 4;

/** The result is `{char* tree; char* stderr; Error* error}`, an error begins with its message. */
function parse(parser: PgQueryModule, text: string): ParsedSql {
  const bytes = parser.lengthBytesUTF8(text) + 1;
  const input = parser._malloc(bytes);
  parser.stringToUTF8(text, input, bytes);
  const result = parser._wasm_parse_query_raw(input);
  try {
    const error = parser.getValue(result + 2 * POINTER_BYTES, 'i32');
    if (error !== 0) return { ok: false, reason: parser.UTF8ToString(parser.getValue(error, 'i32')) };
    const tree = parser.UTF8ToString(parser.getValue(result, 'i32'));
    return { ok: true, tree: JSON.parse(tree) as JsonObject };
  } finally {
    parser._free(input);
    parser._wasm_free_parse_result(result);
  }
}
