import { carryParameter } from '../../../runtime/workflow-migration/expressions/carry-expression';
import { mergeValues } from '../../../runtime/workflow-migration/expressions/merge-values';
import { splitExpression } from '../../../runtime/workflow-migration/expressions/split-expression';
import { parseWorkflow } from '../../../runtime/workflow-migration/parse-workflow';
import { findClusters } from '../../../runtime/workflow-migration/routers/find-clusters';
import { attach, chain, main, node, workflow } from '../../support/workflows/workflow-builder';
import { agent, conditions, openRouter, prompts, tierIs } from '../../support/workflows/workflow-parts';

const MANY = 100_000;

// Read more than a few times over, any of these takes longer than a test may.
describe('a long expression is read in a moment', () => {
  it.each([
    ['semicolons that end nothing', `$json.a${';'.repeat(MANY)}b`],
    ['spaces', `$json.a${' '.repeat(MANY)}b`],
    ['quotes that nothing ends', '\\"'.repeat(MANY)],
    ['single quotes that nothing ends', "\\'".repeat(MANY)],
  ])('with %s', (_what, code) => {
    expect(carryParameter(`={{ ${code} }}`).kind).toBe('unknown');
    expect(mergeValues([{ when: 'a', value: `={{ ${code} }}` }, { value: 'b' }])).toBeUndefined();
  });

  it('with backslashes', () => {
    const text = `${'\\'.repeat(MANY)}x`;
    expect(splitExpression(`=${text}{{ 1 }}`)?.at(-1)).toEqual({ kind: 'code', text: ' 1 ' });
  });
});

it('takes no name for text although a quote before it is never ended', () => {
  expect(carryParameter('={{ /"/.test($now) }}')).toMatchObject({ why: { reason: 'condition-time' } });
});

it.each([3, 40])('routers whose ways double %i times are looked at in a moment', (count) => {
  const routers = Array.from({ length: count }, (_, index) => `If ${index}`);
  const agents = ['Agent a', 'Agent b'];
  const clusters = findClusters(
    parseWorkflow(
      workflow('Ways', {
        parts: [
          node('Start', 'base.manualTrigger@1'),
          ...routers.map((name) => node(name, 'base.if@2.2', { conditions: conditions([tierIs(name)]), options: {} })),
          ...agents.map((name) => agent(name, '3.1', prompts('={{ $json.m }}'))),
          openRouter('Model', 'x/y'),
        ],
        wires: [
          ...chain('Start', 'If 0'),
          ...routers.slice(1).flatMap((name, index) => main(`If ${index}`, [name], [name])),
          ...main(routers.at(-1) ?? '', ...agents.map((name) => [name])),
          ...attach('Model', 'ai_languageModel', agents),
        ],
      }),
    ),
  );
  expect(clusters.map(({ branches }) => branches.map(({ agent: { name } }) => name))).toEqual([agents]);
});
