import { parseExactly } from '../../../runtime/util/exact-integer';
import type { JsonObject, JsonValue } from '../../../runtime/util/json';
import { createFiller } from '../../../runtime/util/variables/fill';
import { issueOfVariables, storeVariable } from '../../../runtime/util/variables/store';

const variables = new Map<string, JsonValue>([
  ['myVar', 'value1'],
  ['sel', '#id'],
  ['n', 7],
  ['none', null],
  ['customer', { name: 'Ann', tags: ['new', { id: 1 }], 'e-mail': 'a@example.com' }],
  ['имя', 'Анна'],
  ['tricky', '{{sel}} $& $1'],
]);
const text = (template: string) => createFiller(variables).text(template);
const json = (template: JsonValue) => createFiller(variables).json(template);
const unknownIn = (template: JsonValue) => {
  const filler = createFiller(variables);
  filler.json(template);
  return filler.unknown();
};

it.each([
  ['Get {{myVar}}', 'Get value1'],
  ['Get {{ myVar }} and {{myVar}}', 'Get value1 and value1'],
  ['{{customer.name}} {{customer.tags[0]}} {{customer.tags[1].id}} {{customer.e-mail}}', 'Ann new 1 a@example.com'],
  ['{{n}}{{none}}|{{customer.tags}}', '7|["new",{"id":1}]'],
  ['{{имя}}', 'Анна'],
  ['{{tricky}}', '{{sel}} $& $1'],
  ['{{{sel}}}', '{#id}'],
])('%s becomes %s, once', (template, filled) => expect(text(template)).toBe(filled));

it.each([
  ['{{unknown}} {{customer.age}} {{customer.tags[9]}}', '"unknown", "customer.age", "customer.tags[9]"'],
  ['{{sel.length}} {{customer.constructor}} {{__proto__}}', '"sel.length", "customer.constructor", "__proto__"'],
  ['{{ $json.id }} {{1a}} {{a b}} {{}} {{#if x}} {{customer[name]}}', ''],
])('%s stays as it is', (template, unknown) => {
  expect(text(template)).toBe(template);
  expect(unknownIn(template)).toBe(unknown);
});

it('keeps the type of a text that is nothing but a placeholder, and fills no keys', () => {
  expect(
    json({ selector: '{{sel}}', n: '{{ n }}', all: '{{customer}}', '{{sel}}': [1, null, '{{none}}', 'a{{n}}'] }),
  ).toEqual({
    selector: '#id',
    n: 7,
    all: variables.get('customer'),
    '{{sel}}': [1, null, null, 'a7'],
  });
});

it('keeps integers beyond 2^53', () => {
  const long = new Map(Object.entries(parseExactly('{"id":9007199254740993}') as JsonObject));
  expect(JSON.stringify(createFiller(long).json({ id: '{{id}}', text: 'No. {{id}}', own: '{{id}}' }))).toBe(
    '{"id":9007199254740993,"text":"No. 9007199254740993","own":9007199254740993}',
  );
});

it('names at most ten unknown variables, and no path that is longer than any', () => {
  const unknown = unknownIn(Array.from({ length: 30 }, (_, index) => `{{v${index}}}`));
  expect(unknown.split(', ')).toHaveLength(10);
  expect(unknownIn(`{{a.${'x'.repeat(5000)}}} {{sel${'[0]'.repeat(90)}}}`)).toBe('');
});

it('does not multiply what it is given, nor go on for ever', () => {
  const big = new Map<string, JsonValue>([['big', 'x'.repeat(60_000)]]);
  expect(() => createFiller(big).text('{{big}}'.repeat(5))).toThrow('more than 250000 characters');
  expect(() => createFiller(big).json(Array<string>(5).fill('{{big}}'))).toThrow('more than 250000 characters');
  expect(() => text('{{none}}'.repeat(2001))).toThrow('more than 2000 placeholders');
  const open = '{{'.repeat(200_000) + ' '.repeat(200_000);
  expect(text(open)).toBe(open);
});

describe('what a run can have', () => {
  it.each([[''], ['1a'], ['a b'], ['a.b'], ['a'.repeat(65)], ['__proto__'], ['constructor'], ['prototype']])(
    'is no variable of the name %j',
    (name) => {
      const held = new Map<string, JsonValue>();
      expect(storeVariable(held, name, 1)).toContain(`${JSON.stringify(name.slice(0, 64))} is not a name`);
      expect(issueOfVariables(parseExactly(`{${JSON.stringify(name)}:1}`) as JsonObject)).toContain('is not a name');
      expect(held.size).toBe(0);
    },
  );

  it('is a hundred variables of 64 KiB', () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`v${index}`, index]));
    expect(issueOfVariables(many)).toContain('only 100 variables fit');
    const held = new Map<string, JsonValue>([['a', 'x'.repeat(60_000)]]);
    expect(storeVariable(held, 'b', 'x'.repeat(6000))).toContain('longer than 65536 bytes');
    expect(storeVariable(held, 'a', 'x')).toBeUndefined();
    expect([...held]).toEqual([['a', 'x']]);
  });
});
