import { RE2JS } from 're2js';

import { askSchemaProcess } from '../../../runtime/tools/schemas/ask-schema-process';
import { compileInputSchema } from '../../../runtime/tools/schemas/validate-input';
import type { JsonObject, JsonValue } from '../../../runtime/util/json';
import { patternSize } from '../../../runtime/util/pattern-size';

/** `a0` refers twice to `a1`, that twice to `a2`, and so on. */
function fanOut(levels: number): JsonObject {
  const definitions: Record<string, JsonObject> = { [`a${levels}`]: { type: 'object' } };
  for (let level = 0; level < levels; level++) {
    const next = { $ref: `#/$defs/a${level + 1}` };
    definitions[`a${level}`] = { allOf: [next, next] };
  }
  return { type: 'object', $ref: '#/$defs/a0', $defs: definitions };
}

it('refuses a schema whose references multiply beyond all bounds', () => {
  expect(() => compileInputSchema(fanOut(30))).toThrow('its references multiply beyond all bounds');
});

it('takes one whose references multiply a little', () => {
  expect(compileInputSchema(fanOut(5))({})).toEqual({ ok: true, value: {} });
});

const LOOPS: [string, JsonObject][] = [
  ['by references alone', { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }],
  ['through a choice', { a: { anyOf: [{ $ref: '#/$defs/a' }] } }],
];

it.each(LOOPS)('refuses a schema that leads back to itself %s', (_how, $defs) => {
  expect(() => compileInputSchema({ type: 'object', $defs, $ref: '#/$defs/a' })).toThrow(
    'its schema refers to itself without end',
  );
});

it('refuses one that does so for some values only', () => {
  const schema = {
    type: 'object',
    properties: { trap: { $ref: '#/$defs/a' } },
    $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } },
  };
  expect(() => compileInputSchema(schema)).toThrow('its schema refers to itself without end');
});

it('takes a type that holds itself, as a tree does', () => {
  const schema = {
    type: 'object',
    properties: { tree: { $ref: '#/$defs/tree' } },
    $defs: {
      tree: {
        type: 'object',
        properties: { children: { type: 'array', items: { $ref: '#/$defs/tree' } } },
        additionalProperties: false,
      },
    },
  };
  const parse = compileInputSchema(schema);
  expect(parse({ tree: { children: [{ children: [] }] } })).toMatchObject({ ok: true });
  expect(parse({ tree: { children: [{ leaf: 1 }] } })).toMatchObject({ ok: false });
});

it('refuses a remote reference without fetching it', () => {
  expect(() => compileInputSchema({ type: 'object', $ref: 'http://127.0.0.1:9/schema.json' })).toThrow("can't resolve");
});

it('checks a pattern in linear time, however it was written', () => {
  const parse = compileInputSchema({ type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } });
  expect(parse({ a: `${'a'.repeat(50)}!` })).toMatchObject({ ok: false });
  expect(parse({ a: 'aaa' })).toMatchObject({ ok: true });
});

it('leaves a pattern that only JavaScript knows to the server', () => {
  const parse = compileInputSchema({ type: 'object', properties: { a: { type: 'string', pattern: '^(?=x)x' } } });
  expect(parse({ a: 'y' })).toMatchObject({ ok: true });
});

/** An object with so many properties. */
function wide(count: number, schemaOf: (index: number) => JsonObject): JsonObject {
  const properties = Array.from({ length: count }, (_, index) => [`p${index}`, schemaOf(index)] as const);
  return { type: 'object', properties: Object.fromEntries(properties) };
}
const withA = (a: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties: { a }, ...more });

describe('a schema that is too large to be used', () => {
  it.each<[string, JsonObject]>([
    ['1,100 short patterns', wide(1100, (index) => ({ pattern: `^a${index}$` }))],
    ['800 patterns that repeat a thousand times', wide(800, () => ({ pattern: 'a{1000}' }))],
    ['patterns of properties', withA({ patternProperties: wide(1100, () => ({})).properties as JsonObject })],
    ['a repetition of a repetition', withA({ pattern: '((?:a{30}){30}){30}' })],
    ['ten thousand properties', wide(10_000, () => ({ type: 'string' }))],
  ])('is refused before anything of it is compiled: %s', (_what, schema) => {
    const compile = jest.spyOn(RE2JS, 'compile');
    expect(() => compileInputSchema(schema)).toThrow(/larger than|more than/);
    expect(compile).not.toHaveBeenCalled();
    compile.mockRestore();
  });

  it('is judged wherever the patterns stand, also behind references', () => {
    const schema = withA({ $ref: '#/x/many' }, { x: { many: wide(1100, () => ({ pattern: 'ab' })) } });
    expect(() => compileInputSchema(schema)).toThrow('its patterns are larger than');
  });
});

it.each([
  'abc',
  '^[a-z]{2,40}$',
  '(a{30}){30}',
  '(?:a?){100}',
  'a{1000}',
  '[\\]{}x]{300}',
  '(foo|bar){50,}',
  '\\d{4}-\\d{2}',
  '(((x{9}){9}){9})',
  '\\{900}',
  '(?:abc)(?i){300}',
  '(?:abc){20}(?s){20}(?-s)',
])('the size of %s is not taken for less than it is', (pattern) => {
  expect(patternSize(pattern)).toBeGreaterThanOrEqual(RE2JS.compile(pattern).programSize());
});

describe('a pattern that only RE2 knows', () => {
  let compiled: jest.SpyInstance;
  beforeEach(() => (compiled = jest.spyOn(RE2JS, 'compile')));
  afterEach(() => compiled.mockRestore());

  it.each([
    ['quotes', `(?:${'ab'.repeat(500)})\\Q\\E{1000}`],
    ['settings', `(?:${'ab'.repeat(500)})(?i){1000}`],
    ['more settings', `(?:${'ab'.repeat(50)})(?s){30}(?s){30}`],
  ])('is not compiled to find that it is too large: %s', (_what, pattern) => {
    expect(() => compileInputSchema(withA({ pattern }))).toThrow('its patterns are larger than');
    expect(compiled).not.toHaveBeenCalled();
  });

  it('is compiled in another process where it is large', async () => {
    const parse = compileInputSchema(withA({ pattern: '^(?s)(?:ab){900}$' }));
    expect(await parse({ a: 'ab'.repeat(900) })).toMatchObject({ ok: true });
    expect(await parse({ a: 'ab' })).toMatchObject({ ok: false });
    expect(compiled).not.toHaveBeenCalled();
  });

  it('is taken where it is small', () => {
    const parse = compileInputSchema(withA({ pattern: '(?i)^abc$' }));
    expect(parse({ a: 'ABC' })).toMatchObject({ ok: true });
    expect(parse({ a: 'ABD' })).toMatchObject({ ok: false });
  });
});

it.each(['a'.repeat(10_001), '\\p{'.repeat(16_000)])(
  'a pattern of more than 10,000 characters has no size',
  (pattern) => {
    expect(patternSize(pattern)).toBe(Infinity);
  },
);

it('a class that is never closed is read as the characters that it is', () => {
  expect(patternSize('\\p{'.repeat(2000))).toBeGreaterThan(2000);
});

describe('what takes too long for the event loop', () => {
  const large = wide(500, () => ({ type: 'string', minLength: 1 }));

  it('is checked in another process, with the same verdict', async () => {
    const parse = compileInputSchema(large);
    const checking = parse({ p0: '' });
    expect(checking).toBeInstanceOf(Promise);
    expect(await checking).toEqual({ ok: false, issues: 'p0 must NOT have fewer than 1 characters' });
    expect(await parse({ p0: 'x' })).toEqual({ ok: true, value: { p0: 'x' } });
  });

  it('is so for a large value of a small schema too', async () => {
    const parse = compileInputSchema(withA({ items: { type: 'integer' } }));
    expect(parse({ a: [1, 2] })).toMatchObject({ ok: true });
    const checking = parse({ a: Array.from({ length: 100_000 }, () => 1) });
    expect(checking).toBeInstanceOf(Promise);
    expect(await checking).toMatchObject({ ok: true });
  });

  it.each<[string, JsonObject, JsonValue]>([
    [
      'references that double with every level of the value',
      withA({ $ref: '#/$defs/a' }, { $defs: { a: doubling() } }),
      deep(60),
    ],
    ['a long text under a large pattern', withA({ pattern: '(a{50}){19}b' }), 'a'.repeat(1_000_000)],
    [
      'a long text whose length is looked at many times',
      withA({ allOf: Array.from({ length: 100 }, () => ({ maxLength: 9_000_000 })) }),
      'a'.repeat(4_000_000),
    ],
    [
      'millions of errors',
      withA({ items: { allOf: Array.from({ length: 60 }, () => ({ type: 'number' })) } }),
      Array.from({ length: 60_000 }, () => []),
    ],
  ])('is given up there: %s', async (_what, schema, value) => {
    const checked = await compileInputSchema(schema)({ a: value });
    expect(checked).toMatchObject({
      ok: false,
      issues: expect.stringContaining('arguments cannot be checked') as string,
    });
  });

  it('is so for a long text whose length is looked at', async () => {
    const parse = compileInputSchema(withA({ minLength: 1, maxLength: 1_000_000 }));
    expect(parse({ a: 'a'.repeat(100_000) })).toEqual(expect.objectContaining({ ok: true }));
    const checking = parse({ a: 'a'.repeat(300_000) });
    expect(checking).toBeInstanceOf(Promise);
    expect(await checking).toMatchObject({ ok: true });
  });

  it('is so for many short keys under many patterns', async () => {
    const patternProperties = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`^${index}$`, {}]));
    const keys = Array.from({ length: 600 }, (_, index) => [(index + 36).toString(36), 1]);
    const checking = compileInputSchema(withA({ patternProperties }))({ a: Object.fromEntries(keys) as JsonObject });
    expect(checking).toBeInstanceOf(Promise);
    expect(await checking).toMatchObject({ ok: true });
  });

  it('is refused where more than a hundred wait, and nobody else is', async () => {
    const checks = Array.from({ length: 110 }, () => askSchemaProcess({ schema: '{}', name: 'it', value: 1 }));
    const verdicts = await Promise.all(checks);
    expect(verdicts.filter((verdict) => 'reason' in verdict)).toEqual(
      Array.from({ length: 8 }, () => ({ reason: 'too many others wait to be checked' })),
    );
  });

  it('waits in the line of its tenant: the tenant with the most gives up its last for another', async () => {
    const job = { schema: '{}', name: 'it', value: 1 };
    const ofFirst = Array.from({ length: 102 }, () => askSchemaProcess(job, { tenantId: 'a' }));
    expect(await askSchemaProcess(job, { tenantId: 'b' })).toEqual({ issues: undefined });
    const verdicts = await Promise.all(ofFirst);
    expect(verdicts.filter((verdict) => 'reason' in verdict)).toEqual([verdicts.at(-1)]);
  });

  it('is not begun for a run that has ended', async () => {
    const ended = new AbortController();
    const job = { schema: '{}', name: 'it', value: 1 };
    const first = Array.from({ length: 2 }, () => askSchemaProcess(job, { tenantId: 'a' }));
    const gone = Array.from({ length: 20 }, () => askSchemaProcess(job, { tenantId: 'c', signal: ended.signal }));
    ended.abort();
    expect(await Promise.all(gone)).toEqual(Array.from({ length: 20 }, () => ({ reason: 'the run has ended' })));
    expect(await Promise.all(first)).toEqual([{ issues: undefined }, { issues: undefined }]);
  });

  it('ends no more than its own process, and the next is checked by another', async () => {
    const bomb = wide(1, () => ({ items: { allOf: Array.from({ length: 300 }, () => ({ type: 'number' })) } }));
    const value = { p0: Array.from({ length: 60_000 }, () => []) };
    const verdict = await askSchemaProcess({ schema: JSON.stringify(bomb), name: 'it', value });
    expect(verdict).toEqual({ reason: 'it takes too much time or memory' });
    expect(await compileInputSchema(large)({ p0: '' })).toMatchObject({ ok: false });
  });
});

/** Its value is looked at twice, and so is each within it. */
function doubling(): JsonObject {
  const again = { $ref: '#/$defs/a' };
  return { properties: { a: { anyOf: [again, { allOf: [again] }] } }, required: ['b'] };
}

function deep(levels: number): JsonValue {
  let value: JsonValue = {};
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

describe('uniqueItems', () => {
  const parse = compileInputSchema(withA({ uniqueItems: true }));
  const objects = Array.from({ length: 20_000 }, (_, id) => ({ id, name: 'x' }));

  it('is checked over 20,000 objects in one pass', async () => {
    expect(await parse({ a: objects })).toMatchObject({ ok: true });
    expect(await parse({ a: [...objects, { name: 'x', id: 7 }] })).toEqual({
      ok: false,
      issues: 'a must NOT have duplicate items',
    });
  });

  it.each<[JsonValue[], boolean]>([
    [[1, 1.0], false],
    [[1, '1'], true],
    [[0, false, null, ''], true],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      false,
    ],
    [
      [
        [1, 2],
        [2, 1],
      ],
      true,
    ],
    [[{}, []], true],
    [['a', 'A', 'a'], false],
  ])('takes %j for unique: %s', async (a, isUnique) => {
    expect((await parse({ a })).ok).toBe(isUnique);
  });

  it('asks nothing where it is off', async () => {
    expect(await compileInputSchema(withA({ uniqueItems: false }))({ a: [1, 1] })).toMatchObject({ ok: true });
  });
});
