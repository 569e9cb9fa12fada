import { schemaFormat } from '../../../../runtime';
import { withCode } from '../../../support/setup/matchers';

const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name'],
  additionalProperties: false,
};
const parse = (schema: unknown, text: string, isCall = true) => schemaFormat(schema).parse({ text, isCall });

it('shows an object schema as it is, and takes what it allows', async () => {
  expect(schemaFormat(PERSON).tool).toMatchObject({ name: 'format_final_json_response', inputSchema: PERSON });
  await expect(parse(PERSON, '{"name":"Ann"}')).resolves.toEqual({ ok: true, value: { name: 'Ann' } });
});

it('reads a schema that is given as text', async () => {
  await expect(parse(JSON.stringify(PERSON), '{"name":"Ann"}')).resolves.toMatchObject({ ok: true });
});

it.each([
  ['{"age":3}', "the answer must have required property 'name'"],
  ['{"name":"Ann","age":"x"}', 'age must be integer'],
  ['Ann', 'it holds no valid JSON'],
  // A call has arguments, and no words around them.
  ['She is {"name":"Ann"}', 'it holds no valid JSON'],
  ['{"name":"Ann"', 'it holds no valid JSON'],
])('says what is wrong with %s', async (text, issues) => {
  await expect(parse(PERSON, text)).resolves.toEqual({ ok: false, issues });
});

it.each(['Here it is:\n```json\n{"name":"Ann"}\n```', 'I found {"x":1}, so {"name":"Ann"}.'])(
  'finds the value in a text: %s',
  async (text) => {
    await expect(parse(PERSON, text, false)).resolves.toEqual({ ok: true, value: { name: 'Ann' } });
  },
);

it('says what is wrong with the first value of a text, when none of them fits', async () => {
  const issues = "the answer must have required property 'name'";
  await expect(parse(PERSON, 'Not {"age":3} but {"name":1}.', false)).resolves.toEqual({ ok: false, issues });
});

it('wraps a schema that is no object, and keeps what it refers to', async () => {
  const schema = { type: 'array', items: { $ref: '#/$defs/tag' }, $defs: { tag: { type: 'string' } } };
  expect(schemaFormat(schema).tool.inputSchema).toEqual({
    type: 'object',
    properties: { output: { type: 'array', items: { $ref: '#/$defs/tag' } } },
    required: ['output'],
    additionalProperties: false,
    $defs: { tag: { type: 'string' } },
  });
  await expect(parse(schema, '{"output":["a"]}')).resolves.toEqual({ ok: true, value: ['a'] });
  await expect(parse(schema, '["a"]', false)).resolves.toEqual({ ok: true, value: ['a'] });
  await expect(parse(schema, '{"output":[1]}')).resolves.toMatchObject({ ok: false });
});

it('leaves a property named output alone in an object', async () => {
  const schema = { type: 'object', properties: { output: { type: 'number' } }, required: ['output'] };
  await expect(parse(schema, '{"output":4}')).resolves.toEqual({ ok: true, value: { output: 4 } });
});

it.each([
  ['{', 'is not valid JSON'],
  ['[]', 'is not a JSON object'],
  [{ type: 'text' }, 'type'],
  [{ type: 'object', properties: { a: { $ref: 'https://example.com/a.json' } } }, 'example.com'],
])('refuses %j, which is no schema', (schema, reason) => {
  expect(() => schemaFormat(schema)).toThrow(withCode('OUTPUT_FORMAT_INVALID'));
  expect(() => schemaFormat(schema)).toThrow(reason);
});

it('refuses a schema that is nested without end', () => {
  let schema: object = {};
  for (let level = 0; level < 300; level++) schema = { not: schema };
  expect(() => schemaFormat(schema)).toThrow('nested deeper');
  expect(() => schemaFormat(JSON.stringify(schema))).toThrow('nested deeper');
});
