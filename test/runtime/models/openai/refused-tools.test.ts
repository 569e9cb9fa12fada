import '../../../support/setup/errors-of-node';

import type { ToolDefinition } from '../../../../runtime';
import type { ModelRequest } from '../../../../runtime/contracts/model';
import { createDialects, USUAL } from '../../../../runtime/models/openai/dialect/dialect';
import type { JsonObject } from '../../../../runtime/util/json';
import { anthropic, gemini, openai, refusing, type Rules } from '../../../support/servers/refusing-providers';
import { aModelRequest } from '../../../support/values/model-request';
import { call } from '../../../support/values/stream-chunks';
import { type Answer, type DialectWorld, openDialectWorld, replies } from '../../../support/worlds/dialect-world';

const NODE: JsonObject = {
  type: 'object',
  properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/Node' } } },
};

/** Schemas of public MCP servers and generators that some provider refuses; the source beside each. */
const ODD: Readonly<Record<string, JsonObject>> = {
  // makenotion/notion-mcp-server#340
  root_any: {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' } },
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
  },
  // nspady/google-calendar-mcp#39
  root_one: {
    type: 'object',
    oneOf: [
      { properties: { kind: { const: 'a' }, a: { type: 'string' } }, required: ['kind', 'a'] },
      { properties: { kind: { const: 'b' }, b: { type: 'number' } }, required: ['kind', 'b'] },
    ],
  },
  root_all: { allOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { required: ['a'] }] },
  root_not: { type: 'object', properties: { a: {} }, not: { required: ['b'] } },
  // zod-to-json-schema with a name
  root_ref: {
    $ref: '#/definitions/Ask',
    definitions: { Ask: { type: 'object', properties: { a: { type: 'string' } } } },
  },
  bare: { type: 'object' },
  // mark3labs/mcphost#35
  list: { type: 'object', properties: { list: { type: 'array' } } },
  deep_list: { type: 'object', properties: { a: { type: 'object', properties: { list: { type: 'array' } } } } },
  tuple: { type: 'object', properties: { at: { type: 'array', items: [{ type: 'number' }, { type: 'number' }] } } },
  tuple_2020: { type: 'object', properties: { at: { type: 'array', prefixItems: [{ type: 'number' }] } } },
  // sbroenne/mcp-server-excel#607
  empty_enum: { type: 'object', properties: { mode: { type: 'string', enum: ['', 'a'] } } },
  number_enum: { type: 'object', properties: { level: { type: 'integer', enum: [1, 2, 3] } } },
  mixed_enum: { type: 'object', properties: { level: { enum: ['low', 1, null] } } },
  constant: { type: 'object', properties: { kind: { const: 'a' }, no: { const: 5 }, is: { const: true } } },
  // iBUHub/AIStudioToAPI#154
  unknown_required: { type: 'object', properties: { text: { type: 'string' } }, required: ['ref', 'text'] },
  // pydantic: Optional
  optional: { type: 'object', properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null } } },
  nullable: { type: 'object', properties: { a: { type: ['string', 'null'] } } },
  types: { type: 'object', properties: { a: { type: ['string', 'integer'] } } },
  union: {
    type: 'object',
    properties: {
      a: { description: 'One or more', anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    },
  },
  discriminated: {
    type: 'object',
    properties: {
      shape: {
        oneOf: [
          { type: 'object', properties: { kind: { const: 'circle' }, r: { type: 'number', exclusiveMinimum: 0 } } },
          { type: 'object', properties: { kind: { const: 'square' }, side: { type: 'number' } } },
        ],
      },
    },
  },
  recursive: { type: 'object', properties: { root: { $ref: '#/$defs/Node' } }, $defs: { Node: NODE } },
  limits_4: { type: 'object', properties: { n: { type: 'number', minimum: 0, exclusiveMinimum: true } } },
  limits: { type: 'object', properties: { n: { type: 'integer', exclusiveMinimum: 0, multipleOf: 5 } } },
  formats: {
    type: 'object',
    properties: { at: { type: 'string', format: 'date-time' }, url: { type: 'string', format: 'uri' } },
  },
  map: { type: 'object', properties: { labels: { type: 'object', additionalProperties: { type: 'string' } } } },
  closed: {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {},
    additionalProperties: false,
  },
  anything: { type: 'object', properties: { value: {}, other: { description: 'Anything' } } },
  conditional: {
    type: 'object',
    properties: { a: { type: 'string' } },
    if: { properties: { a: { const: 'x' } } },
    then: { required: ['b'] },
  },
  patterns: {
    type: 'object',
    properties: { id: { type: 'string', pattern: '^[a-z]+$', minLength: 2 } },
    patternProperties: { '^x-': {} },
  },
};

const definition = (name: string, inputSchema: JsonObject): ToolDefinition => ({
  name,
  description: name,
  inputSchema,
});
const GOOD = definition('weather', { type: 'object', properties: { city: { type: 'string' } } });
/** A tenant of forty tools. */
const FORTY = [
  ...Object.entries(ODD).map(([name, schema]) => definition(name, schema)),
  ...Array.from({ length: 39 - Object.keys(ODD).length }, (_none, no) => definition(`good${no}`, GOOD.inputSchema)),
  GOOD,
];

const done = replies({ content: 'Done' });
const asks = replies({ content: null, tool_calls: [call('a', 'weather', '{"city":"Rome"}')] }, 'tool_calls');

/** As often as the rules refuse: the model calls a tool, then answers. */
function provider(rules: Rules, first = asks): readonly Answer[] {
  const answer: Answer = (response, request) =>
    (request.messages.at(-1)?.role === 'tool' ? done : first)(response, request);
  return Array.from({ length: 60 }, () => refusing(rules, answer));
}

const open: DialectWorld[] = [];
const aWorld = async (tools: readonly ToolDefinition[]): Promise<DialectWorld> => {
  const world = await openDialectWorld(tools);
  open.push(world);
  return world;
};
afterEach(() => Promise.all(open.splice(0).map((world) => world.close())));

const offeredIn = ({ models }: DialectWorld): readonly string[] =>
  (models.received.at(-1)?.tools ?? []).map(({ function: { name } }) => name);

describe.each([
  ['OpenAI', openai, 'gpt-5'],
  ['Anthropic', anthropic, 'anthropic/claude-sonnet-4.5'],
  ['Google', gemini, 'google/gemini-2.5-pro'],
])('%s', (_whose, rules, model) => {
  it('takes all of forty tools, many of them odd, in the first request', async () => {
    const world = await aWorld(FORTY);
    const outcome = await world.alike(provider(rules), { model_override: model });
    expect(outcome).toMatchObject({ text: 'Done', called: ['weather {"city":"Rome"}'], requests: 2 });
    expect(outcome.warnings?.filter((text) => text.includes('refused')) ?? []).toEqual([]);
    expect(offeredIn(world)).toHaveLength(40);
  });
});

it('finds out which form a model takes that is not known, and remembers it', async () => {
  const world = await aWorld(FORTY);
  const first = await world.outcomeOf(provider(gemini));
  expect(first).toMatchObject({ text: 'Done', called: ['weather {"city":"Rome"}'], requests: 3 });
  expect(first.warnings).toBeUndefined();
  expect(await world.outcomeOf(provider(gemini))).toMatchObject({ text: 'Done', requests: 2 });
  expect(offeredIn(world)).toHaveLength(40);
});

const ODDLY_NAMED = definition('odd', { type: 'object', properties: { 'user name': { type: 'string' } } });

it('leaves out what cannot be said otherwise, names it in each run, and asks only once in vain', async () => {
  const world = await aWorld([GOOD, ODDLY_NAMED, definition('forecast', GOOD.inputSchema)]);
  const warnings = [expect.stringMatching(/refused tool "odd".*Property keys should match/)];
  const first = await world.outcomeOf(provider(anthropic));
  expect(first).toMatchObject({ text: 'Done', called: ['weather {"city":"Rome"}'], requests: 3, warnings });
  expect(offeredIn(world)).toEqual(['weather', 'forecast']);
  expect(await world.outcomeOf(provider(anthropic))).toMatchObject({ requests: 2, warnings });
});

it('offers a tool that was left out again when it has changed', async () => {
  const world = await aWorld([ODDLY_NAMED, GOOD]);
  await world.outcomeOf(provider(anthropic));
  const mended = await aWorld([definition('odd', GOOD.inputSchema), GOOD]);
  expect(await mended.outcomeOf(provider(anthropic))).toMatchObject({ requests: 2 });
  expect(offeredIn(mended)).toEqual(['odd', 'weather']);
});

it('goes on without any tool where a provider takes none of them', async () => {
  const world = await aWorld([ODDLY_NAMED]);
  const outcome = await world.outcomeOf(provider(anthropic, done), { config: { tool_choice: 'required' } });
  expect(outcome).toMatchObject({ text: 'Done' });
  expect(world.models.received.at(-1)).not.toHaveProperty('tool_choice');
});

it.each([
  [
    "Invalid 'tools': array too long. Expected an array with maximum length 30, but got an array with length 40 instead.",
  ],
  ["'tools' : maximum number of items is 30"],
])('leaves out the last tools of too many: %s', async (message) => {
  const world = await aWorld(FORTY);
  const rules: Rules = ({ tools = [] }) =>
    tools.length > 30 ? { status: 400, body: { error: { message } } } : undefined;
  const outcome = await world.outcomeOf(provider(rules, done));
  expect(outcome).toMatchObject({ text: 'Done', requests: 2 });
  expect(outcome.warnings).toEqual([expect.stringMatching(/refused 10 tools \(good.*it takes 30 at the most/)]);
});

it('ends the run with the words of a provider that names nothing, after one request', async () => {
  const world = await aWorld(FORTY);
  const rules: Rules = () => ({ status: 400, body: { error: { message: 'The image is too large' } } });
  const outcome = await world.alike(provider(rules));
  expect(outcome).toMatchObject({ code: 'LLM_BAD_REQUEST', requests: 1 });
  expect(outcome.message).toContain('The image is too large');
});

it('gives up on a provider that refuses a tool in whatever form', async () => {
  const world = await aWorld([GOOD]);
  const rules: Rules = () => ({
    status: 400,
    body: { error: { message: "Invalid schema for function 'weather': no" } },
  });
  const outcome = await world.alike(provider(rules));
  expect(outcome).toMatchObject({ code: 'LLM_BAD_REQUEST' });
  expect(outcome.requests).toBeLessThan(4);
});

describe('words of a tool that its refusal quotes', () => {
  const words = ["'tools' : maximum number of items is 1", 'system role not supported', 'tool_choice', 'temperature'];
  const quotes: [string, (word: string) => string][] = [
    ['llama.cpp', (word) => `JSON schema conversion failed:\nUnrecognized schema: {"description":"${word}"}`],
    [
      'OpenAI',
      (word) => `Invalid schema for function 'odd': In context=('properties', "${word}"), 'allOf' is not permitted.`,
    ],
    [
      'OpenAI, with its place',
      (word) => `Invalid schema for function 'odd': In context=('properties', '${word}'), 'strng' is not valid.`,
    ],
    [
      'Google',
      (word) =>
        `* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[${word}].properties: should be non-empty`,
    ],
  ];
  const cases = quotes.flatMap(([whose, quote]) =>
    [...words, 'content', 'for function weather', 'tools[1]', 'tools.1.custom', 'max context length'].map((word) => [
      whose,
      quote(word),
    ]),
  );

  it.each(cases)('%s: %s', async (whose, message) => {
    const numbered = definition('odd', { type: 'object', properties: { n: { type: 'integer', minimum: 1 } } });
    const world = await aWorld([numbered, GOOD]);
    const param = whose === 'OpenAI, with its place' ? 'tools[0].function.parameters' : null;
    const rules: Rules = ({ tools = [] }) =>
      JSON.stringify(tools).includes('minimum') ? { status: 400, body: { error: { message, param } } } : undefined;
    const config = { temperature: 0.2, tool_choice: 'required', system_prompt: 'Be short.' };
    const outcome = await world.outcomeOf(provider(rules), { config });
    expect(outcome).toMatchObject({ text: 'Done', called: ['weather {"city":"Rome"}'], requests: 3 });
    expect(outcome.warnings).toBeUndefined();
    const asked = world.models.received.at(-2);
    expect(asked).toMatchObject({
      temperature: 0.2,
      tool_choice: 'required',
      messages: [{ role: 'system' }, { role: 'user' }],
    });
    expect(offeredIn(world)).toEqual(['odd', 'weather']);
  });
});

it('learns for one tenant, and for no other', () => {
  const dialects = createDialects();
  const [one, other] = ['a', 'b'].map((tenantId) => aModelRequest({ tenantId }));
  dialects.keep(one as ModelRequest, { ...USUAL, order: 'no-system' });
  expect(dialects.of(one as ModelRequest)).toMatchObject({ order: 'no-system' });
  expect(dialects.of(other as ModelRequest)).toBe(USUAL);
});
