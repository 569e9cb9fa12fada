/** The generated loader of Postgres' own parser, compiled to WebAssembly. The package has types for its wrapper only. */
declare module 'libpg-query/wasm/libpg-query.js' {
  export interface PgQueryModule {
    readonly _malloc: (bytes: number) => number;
    readonly _free: (pointer: number) => void;
    readonly _wasm_parse_query_raw: (text: number) => number;
    readonly _wasm_free_parse_result: (result: number) => void;
    readonly lengthBytesUTF8: (text: string) => number;
    readonly stringToUTF8: (text: string, pointer: number, bytes: number) => void;
    readonly UTF8ToString: (pointer: number) => string;
    readonly getValue: (pointer: number, type: 'i32') => number;
  }
  const createModule: () => Promise<PgQueryModule>;
  export default createModule;
}
