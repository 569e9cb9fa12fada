import { Script } from 'node:vm';

import { literal } from '../../../runtime/workflow-migration/expressions/javascript';
import { type BranchValue, mergeValues } from '../../../runtime/workflow-migration/expressions/merge-values';
import { findReferences, renameReferences } from '../../../runtime/workflow-migration/expressions/references';
import { splitExpression } from '../../../runtime/workflow-migration/expressions/split-expression';
import { fc } from '../../support/values/properties';

/** What n8n makes of a parameter: text and values joined; what fails or is empty is nothing. */
function evaluate(parameter: unknown, json: unknown): unknown {
  if (typeof parameter !== 'string' || !parameter.startsWith('=')) return parameter;
  const pieces = splitExpression(parameter) ?? [];
  const values = pieces.map(({ kind, text }) => (kind === 'text' ? text : run(text, json)));
  if (values.length === 1) return values[0];
  return values.map((value) => (value || value === 0 || value === false ? (value as string) : '')).join('');
}

function run(code: string, json: unknown): unknown {
  try {
    return new Script(/^\s*\{/.test(code) ? `(${code})` : code).runInNewContext({ $json: json }) as unknown;
  } catch {
    return undefined;
  }
}

const byTier = (...values: BranchValue['value'][]): BranchValue[] =>
  values.map((value, index) => ({
    value,
    ...(index < values.length - 1 ? { when: `$json.tier === ${String(index)}` } : {}),
  }));

/** What each branch gets of the merged parameter, beside what it got of its own. */
function compare(values: BranchValue['value'][], json: object = {}): void {
  const merged = mergeValues(byTier(...values));
  if (merged === undefined) throw new Error('not merged');
  for (const [tier, value] of values.entries()) {
    expect(evaluate(merged.value, { ...json, tier })).toEqual(evaluate(value, { ...json, tier }));
  }
}

describe('values of branches', () => {
  it('stay as they are where they are the same', () => {
    expect(mergeValues(byTier('={{ $json.a }} x', '={{ $json.a }} x'))?.value).toBe('={{ $json.a }} x');
    expect(mergeValues(byTier(undefined, undefined))).toEqual({ value: undefined });
  });

  it('become an expression over the conditions where they differ', () => {
    expect(mergeValues(byTier('nano', 'small', 'pro'))?.value).toBe(
      "={{ $json.tier === 0 ? 'nano' : $json.tier === 1 ? 'small' : 'pro' }}",
    );
    compare([10, 3, '={{ $json.n }}'], { n: 7 });
  });

  it('share a condition where branches beside one another are the same', () => {
    expect(mergeValues(byTier('a', 'a', 'b'))?.value).toBe("={{ $json.tier === 0 || $json.tier === 1 ? 'a' : 'b' }}");
  });

  it('keep what stands around a piece that cannot be evaluated', () => {
    compare(['=Shop {{ $json.shop.name }}!', 'plain', '={{ $json.a }}{{ $json.b }}'], { a: 1, b: null });
  });

  it.each([
    ['braces in text', 'a }} b {{ c }} d'],
    ['quotes, backslashes and breaks', 'it\'s "so" \\ `x` ${y}\n\t\r'],
    ['comments in code', '={{ $json.a // why\n }}'],
    ['a semicolon at the end', '={{ $json.a ; }}'],
    ['an object', '={{ { a: 1 }.a }}'],
    ['a conditional', '={{ $json.a ? 1 : 2 }}'],
    ['a comma', '={{ ($json.a, 2) }}'],
  ])('carries %s', (_what, value) => {
    compare([value, 'other'], { a: 5 });
  });

  it.each([
    ['two expressions', '={{ 1) + (2 }}'],
    ['statements', '={{ let a = 1; a }}'],
    ['open braces', '={{ $json.a'],
    ['nothing', '={{ }}'],
  ])('cannot be merged when one of them is %s', (_what, value) => {
    expect(mergeValues(byTier(value, 'other'))).toBeUndefined();
  });

  it('are what they were, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (one, other) => {
        fc.pre(!one.startsWith('=') && !other.startsWith('='));
        compare([one, `${other}!`]);
      }),
    );
  });
});

it('never closes an expression with a literal', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('{', '}', '\\', "'", '"', 'x') }), (text) => {
      expect(literal(text)).not.toContain('}}');
      expect(run(literal(text), {})).toBe(text);
    }),
  );
});

describe('names of nodes in expressions', () => {
  const renames = new Map([
    ['AI Agent', 'New'],
    ["L'agent", 'New'],
    ['A "b" \\', 'New'],
    ['Agent', 'New'],
  ]);

  it.each([
    ["={{ $('AI Agent').item.json.output }}", "={{ $('New').item.json.output }}"],
    ['={{ $( "AI Agent" ).item }}', '={{ $( "New" ).item }}'],
    ['={{ $(`AI Agent`).item }}', '={{ $(`New`).item }}'],
    ["={{ $('L\\'agent').item }}", "={{ $('New').item }}"],
    ['={{ $("L\'agent").item }}', '={{ $("New").item }}'],
    ['={{ $("A \\"b\\" \\\\").item }}', '={{ $("New").item }}'],
    ['={{ $("\\u0041gent").item }}', '={{ $("New").item }}'],
    ['={{ $node["AI Agent"].json.output }}', '={{ $node["New"].json.output }}'],
    ['={{ $node.Agent.json.output }}', "={{ $node['New'].json.output }}"],
    ['={{ $items("AI Agent", 0)[0].json }}', '={{ $items("New", 0)[0].json }}'],
    ['={"a": "{{ $(\\"AI Agent\\").item }}"}', '={"a": "{{ $(\\"New\\").item }}"}'],
    ['={"a": "{{ $(\\"A \\\\\\"b\\\\\\" \\\\\\\\\\").item }}"}', '={"a": "{{ $(\\"New\\").item }}"}'],
    ["={{ $('AI Agent').item + $('AI Agent').item }}", "={{ $('New').item + $('New').item }}"],
  ])('%s', (before, after) => {
    expect(renameReferences(before, renames)).toBe(after);
  });

  it.each([
    "={{ $('AI Agent 2').item }}",
    '={{ "AI Agent" }}',
    "={{ foo('AI Agent') }}",
    '={{ $node.AgentX.json }}',
    "={{ $('AI Agent' + 1) }}",
    '={{ $json["AI Agent"] }}',
    "={{ $('AI Agent",
  ])('leaves %s', (text) => {
    expect(renameReferences(text, renames)).toBe(text);
  });

  it('says what is read', () => {
    expect(findReferences("={{ $('A').item.json.output }}")).toMatchObject([
      { name: 'A', reads: '.item.json.output }}' },
    ]);
  });

  it('finds any name however it is written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (name) => {
        const code = `={{ $(${JSON.stringify(name)}).item }}`;
        const nested = `={"text": ${JSON.stringify(code)}}`;
        expect(findReferences(code)[0]?.name).toBe(name);
        expect(renameReferences(nested, new Map([[name, 'New']]))).toBe(
          `={"text": ${JSON.stringify('={{ $("New").item }}')}}`,
        );
      }),
    );
  });
});
