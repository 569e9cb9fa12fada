/**
 * Inputs of every kind at the edge of what is taken, and beyond it. Without imports: the bench reads this file as it is.
 */
export interface HeavyInput {
  readonly kind: 'task' | 'schema' | 'list' | 'arguments' | 'result' | 'page' | 'reply' | 'memory';
  readonly name: string;
  /** The task's config. */
  readonly config?: () => object;
  readonly taskType?: string;
  /** What the tenant's MCP server lists, and what its tools give. */
  readonly list?: () => string;
  readonly result?: () => string;
  /** What the model says, in order; `code` is the name of the MCP server. Default: an answer. */
  readonly replies?: (code: string) => readonly string[];
  /** What a web server answers to the tool `fetch_page`. */
  readonly page?: () => string;
  readonly memory?: () => readonly { readonly role: 'user'; readonly content: string }[];
  /** How it may end: the status of the run, or the code of its error, of a failed tool call, or else of its first warning. */
  readonly outcomes: readonly string[];
}

interface Ended {
  readonly status?: string;
  readonly code?: string;
  readonly result?: { readonly tool_calls?: readonly { readonly error?: { readonly code?: string } }[] };
  readonly warnings?: readonly { readonly code: string }[];
}

/** How a run or a task has ended, as `outcomes` has it. */
export function outcomeOf(ended: unknown): string {
  const { status, code, result = {}, warnings = [] } = ended as Ended;
  const { tool_calls: calls = [] } = result;
  const codes = [code, ...calls.map(({ error }) => error?.code), ...warnings.map((warning) => warning.code), status];
  return codes.find((one) => one !== undefined) ?? 'nothing';
}

const manyKeys = (count: number): string =>
  `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`;
export const reply = (message: object): string =>
  JSON.stringify({
    choices: [{ message: { role: 'assistant', ...message } }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  });
export const DONE = reply({ content: 'Done' });
export const calling = (name: string, args: string): string =>
  reply({ tool_calls: [{ id: 'a', type: 'function', function: { name, arguments: args } }] });
const emptyCalls = (length: number): string =>
  reply({ tool_calls: Array.from({ length }, (_, id) => ({ id, function: { name: 'x', arguments: '' } })) });
export const listOf = (count: number, schema: (index: number) => object): string =>
  JSON.stringify({
    tools: Array.from({ length: count }, (_, index) => ({ name: `t${index}`, inputSchema: schema(index) })),
  });
const wide = (count: number, inner: (index: number) => object): object => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, inner(index)])),
});
const saying = (length: number): readonly { readonly role: 'user'; readonly content: string }[] =>
  Array.from({ length }, (_, index) => ({ role: 'user', content: `said ${index}` }));

const tasks: Readonly<Record<string, () => object>> = {
  'with as many values as it may have': () => ({ context: JSON.parse(manyKeys(19_000)) as object }),
  'with twice as many': () => ({ context: JSON.parse(manyKeys(40_000)) as object }),
  // JavaScript cannot look at some keys of an object without putting all of them in order; nor could who made it.
  'with 200,000 of them, as an object': () => ({ context: JSON.parse(manyKeys(200_000)) as object }),
  'with a message of four million characters': () => ({ message: 'word '.repeat(800_000) }),
};
const schemas: Readonly<Record<string, () => object>> = {
  'as large as it may be': () => wide(1200, () => ({ type: 'string' })),
  'of many patterns': () => wide(1100, (index) => ({ pattern: `^a${index}$` })),
  'of a megabyte': () => wide(60_000, () => ({})),
  'of quotes repeated': () => wide(1, () => ({ pattern: `(?:${'ab'.repeat(500)})\\Q\\E{1000}` })),
  'of settings repeated': () => wide(1, () => ({ pattern: `(?:${'ab'.repeat(500)})(?i){1000}` })),
  'of classes never closed': () => wide(1, () => ({ pattern: '\\p{'.repeat(16_000) })),
};
const lists: Readonly<Record<string, () => string>> = {
  'eight tools of 1,100 patterns': () => listOf(8, () => wide(1100, (index) => ({ pattern: `^${index}$` }))),
  'forty tools of 1,100 patterns': () => listOf(40, () => wide(1100, (index) => ({ pattern: `^${index}$` }))),
  '256 tools of a dense schema': () => listOf(256, () => wide(60, () => ({ type: 'string', minLength: 1 }))),
  '30,000 tools': () => listOf(30_000, () => ({ type: 'object' })),
};
const calls: Readonly<Record<string, readonly [schema: object, args: () => string]>> = {
  'as many values as they may have': [{}, () => manyKeys(19_000)],
  'a text of a megabyte': [{ properties: { a: { pattern: '.*a.{12}$' } } }, () => `{"a":"${'ab'.repeat(500_000)}"}`],
  'a text whose length is looked at a hundred times': [
    { properties: { a: { allOf: Array.from({ length: 100 }, () => ({ maxLength: 9_000_000 })) } } },
    () => `{"a":"${'a'.repeat(1_000_000)}"}`,
  ],
  '20,000 objects that are to be unique': [
    { properties: { a: { uniqueItems: true } } },
    () => `{"a":[${Array.from({ length: 20_000 }, (_, id) => `{"id":${id}}`).join(',')}]}`,
  ],
};
const results: Readonly<Record<string, () => string>> = {
  'as many values as it may have': () => `{"structuredContent":${manyKeys(49_000)}}`,
  'four megabytes of text': () => JSON.stringify({ content: [{ type: 'text', text: 'eyJhbGciOi '.repeat(370_000) }] }),
  'a million objects': () => `{"content":[],"structuredContent":{"a":[${'{},'.repeat(1_000_000)}0]}}`,
};
const replies: Readonly<Record<string, () => string>> = {
  'thoughts without an end': () => reply({ content: '<think>'.repeat(140_000) }),
  'a fence without an end': () => reply({ content: `\`\`\`json${' '.repeat(1_000_000)}` }),
  'thousands of JSON values': () => reply({ content: '{}'.repeat(500_000) }),
  'a megabyte of text': () => reply({ content: 'http://a:b'.repeat(100_000) }),
  'thirty thousand calls': () => emptyCalls(30_000),
  'two thousand calls': () => emptyCalls(2000),
  'a million objects': () => `{"choices":[${'{},'.repeat(1_000_000)}0]}`,
};
const anyTool = (): string => listOf(1, () => ({ type: 'object' }));

const kinds: readonly Omit<HeavyInput, 'outcomes'>[] = [
  ...Object.entries(tasks).map(([name, config]): Omit<HeavyInput, 'outcomes'> => ({ kind: 'task', name, config })),
  ...Object.entries(schemas).map(([name, schema]): Omit<HeavyInput, 'outcomes'> => ({
    ...{ kind: 'schema', name, taskType: 'llm_extraction' },
    config: () => ({ output_schema: schema() }),
  })),
  ...Object.entries(lists).map(([name, list]): Omit<HeavyInput, 'outcomes'> => ({ kind: 'list', name, list })),
  ...Object.entries(calls).map(([name, [schema, args]]): Omit<HeavyInput, 'outcomes'> => ({
    ...{ kind: 'arguments', name, result: () => '{"content":[]}' },
    list: () => listOf(1, () => ({ type: 'object', ...schema })),
    replies: (code) => [calling(`${code}_t0`, args()), DONE],
  })),
  ...Object.entries(results).map(([name, result]): Omit<HeavyInput, 'outcomes'> => ({
    ...{ kind: 'result', name, result, list: anyTool },
    replies: (code) => [calling(`${code}_t0`, '{}'), DONE],
  })),
  { kind: 'page', name: 'of a megabyte', page: () => '<div><p>text </p></div>'.repeat(43_000) },
  { kind: 'page', name: 'of a megabyte without an end', page: () => '<div><p>text '.repeat(75_000) },
  ...Object.entries(replies).map(([name, text]): Omit<HeavyInput, 'outcomes'> => ({
    kind: 'reply',
    name,
    replies: () => [text(), DONE],
  })),
  { kind: 'memory', name: 'of 10,000 messages', memory: () => saying(10_000) },
  { kind: 'memory', name: 'of a million messages', memory: () => saying(1_000_000) },
];

/** Most complete, however large; what is beyond the bounds is refused. */
const outcomes: Readonly<Record<string, string | readonly string[]>> = {
  'task with twice as many': 'INPUT_INVALID',
  'task with 200,000 of them, as an object': 'INPUT_INVALID',
  'schema of many patterns': 'INPUT_INVALID',
  'schema of a megabyte': 'INPUT_INVALID',
  'schema of quotes repeated': 'INPUT_INVALID',
  'schema of settings repeated': 'INPUT_INVALID',
  'schema of classes never closed': 'INPUT_INVALID',
  'list eight tools of 1,100 patterns': 'MCP_TOOLS_SKIPPED',
  'list forty tools of 1,100 patterns': 'MCP_SERVER_SKIPPED',
  'list 30,000 tools': 'MCP_SERVER_SKIPPED',
  'arguments a text of a megabyte': 'TOOL_INVALID_ARGS',
  'arguments a text whose length is looked at a hundred times': 'TOOL_INVALID_ARGS',
  'arguments 20,000 objects that are to be unique': 'TOOL_INVALID_ARGS',
  'result a million objects': 'TOOL_CONNECTION_LOST',
  // A fast machine reads it within the processor time that it is allowed.
  'page of a megabyte without an end': ['TOOL_UNREACHABLE', 'completed'],
  'reply thirty thousand calls': 'LLM_UNAVAILABLE',
  'reply two thousand calls': 'TOOL_NOT_FOUND',
  'reply a million objects': 'LLM_UNAVAILABLE',
  'memory of 10,000 messages': 'MEMORY_UNAVAILABLE',
  'memory of a million messages': 'MEMORY_UNAVAILABLE',
};

export const HEAVY_INPUTS: readonly HeavyInput[] = kinds.map((input) => ({
  ...input,
  outcomes: [outcomes[`${input.kind} ${input.name}`] ?? 'completed'].flat(),
}));
