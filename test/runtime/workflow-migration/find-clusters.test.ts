import type { JsonObject } from '../../../runtime/util/json';
import type { Cluster } from '../../../runtime/workflow-migration/contract';
import { parseWorkflow } from '../../../runtime/workflow-migration/parse-workflow';
import { findClusters } from '../../../runtime/workflow-migration/routers/find-clusters';
import { attach, chain, main, node, type Part, type Wire, workflow } from '../../support/workflows/workflow-builder';
import { conditions, switch3, tierIs } from '../../support/workflows/workflow-parts';

const agents = (...names: readonly string[]): readonly Part[] => names.map((name) => node(name, 'ai.agent@3.1'));
const tierRules = (...tiers: readonly string[]) =>
  tiers.map((tier) => ({ key: tier, conditions: conditions([tierIs(tier)]) }));
const router = (...tiers: readonly string[]): Part => switch3('Router', 'base.switch@3.4', tierRules(...tiers));
const withParameters = (part: Part, parameters: JsonObject): Part => ({
  ...part,
  parameters: { ...part.parameters, ...parameters },
});
const yesNo = (name: string, tier: string, kind = 'if@2.2'): Part =>
  node(name, `base.${kind}`, { conditions: conditions([tierIs(tier)]), options: {} });

function clustersOf(parts: readonly Part[], wires: readonly Wire[]): readonly Cluster[] {
  return findClusters(workflow('A workflow', { parts: [node('Start', 'base.manualTrigger@1'), ...parts], wires }));
}

/** `Router [A: condition, B]`, or `A (why it is alone)`. */
function summary(clusters: readonly Cluster[]): readonly string[] {
  return clusters.map(({ router: outer, inner, branches, alone }) => {
    const names = branches.map(({ agent, when }) => (when === undefined ? agent.name : `${agent.name}: ${when}`));
    if (outer === undefined) return alone === undefined ? names.join() : `${names.join()} (${alone.reason})`;
    return `${[outer, ...inner].map((one) => one.node.name).join(' > ')} [${names.join(', ')}]`;
  });
}

const is = (tier: string): string => `$json.tier === '${tier}'`;

describe('findClusters', () => {
  it('takes the agents of one Switch together, with what is wired to them', () => {
    const [cluster, ...others] = clustersOf(
      [
        router('a', 'b'),
        ...agents('A', 'B'),
        node('Model', 'ai.lmChatOpenRouter@1'),
        node('Fallback', 'ai.lmChatOpenRouter@1'),
        { ...node('Off', 'ai.toolCode@1'), disabled: true },
        node('Tool', 'ai.toolCode@1'),
        node('Memory', 'ai.memoryBufferWindow@1'),
        node('Parser', 'ai.outputParserStructured@1'),
      ],
      [
        ...main('Router', ['A'], ['B']),
        ...attach('Fallback', 'ai_languageModel:1', ['A']),
        ...attach('Model', 'ai_languageModel', ['A', 'B']),
        ...attach('Off', 'ai_tool', ['A']),
        ...attach('Tool', 'ai_tool', ['A']),
        ...attach('Memory', 'ai_memory', ['A']),
        ...attach('Parser', 'ai_outputParser', ['B']),
      ],
    );
    expect(others).toEqual([]);
    expect(cluster?.router).toMatchObject({ kind: 'switch', node: { name: 'Router' } });
    const [a, b] = cluster?.branches ?? [];
    expect(a).toMatchObject({ when: is('a'), from: [{ node: 'Router', output: 0 }], memory: { name: 'Memory' } });
    expect(a?.models.map(({ name }) => name)).toEqual(['Model', 'Fallback']);
    expect(a?.tools.map(({ name }) => name)).toEqual(['Tool']);
    expect(b).toMatchObject({ from: [{ node: 'Router', output: 1 }], parser: { name: 'Parser' }, tools: [] });
    expect(b).not.toHaveProperty('when');
  });

  it('leaves agents that no router leads to alone, without a reason', () => {
    expect(summary(clustersOf(agents('A', 'B'), chain('Start', 'A', 'B')))).toEqual(['A', 'B']);
    expect(summary(clustersOf([router('a', 'b'), ...agents('A')], main('Router', ['A'])))).toEqual(['A']);
  });

  it('follows IF after IF, and a Switch behind an IF', () => {
    const cascade = clustersOf(
      [yesNo('Is a', 'a'), yesNo('Is b', 'b', 'if@2'), ...agents('A', 'B', 'C')],
      [...main('Is a', ['A'], ['Is b']), ...main('Is b', ['B'], ['C'])],
    );
    expect(summary(cascade)).toEqual([`Is a > Is b [A: ${is('a')}, B: ${is('b')}, C]`]);
    const nested = clustersOf(
      [yesNo('Is vip', 'vip'), router('a', 'b'), ...agents('A', 'B', 'C')],
      [...main('Is vip', ['Router'], ['C']), ...main('Router', ['A'], ['B'])],
    );
    expect(summary(nested)).toEqual([`Is vip > Router [A: ${is('vip')} && ${is('a')}, B: ${is('vip')}, C]`]);
  });

  it('names the router that decides, not one in front of it that has one way only', () => {
    const clusters = clustersOf(
      [yesNo('Is on', 'on'), router('a', 'b'), ...agents('A', 'B')],
      [...main('Is on', ['Router']), ...main('Router', ['A'], ['B'])],
    );
    expect(summary(clusters)).toEqual([`Router [A: ${is('a')}, B]`]);
  });

  it('tells an agent of several outputs by the first rule that matches', () => {
    const parts = [router('a', 'b', 'c'), ...agents('A', 'B')];
    expect(summary(clustersOf(parts, main('Router', ['A'], ['B'], ['A'])))).toEqual([
      `Router [B: !(${is('a')}) && ${is('b')}, A]`,
    ]);
    expect(summary(clustersOf(parts, main('Router', ['A'], ['A'], ['B'])))).toEqual([
      `Router [A: ${is('a')} || ${is('b')}, B]`,
    ]);
    const fallback = withParameters(router('a', 'b'), { options: { fallbackOutput: 0 } });
    expect(summary(clustersOf([fallback, ...agents('A', 'B')], main('Router', ['A'], ['B'])))).toEqual([
      `Router [B: !(${is('a')}) && ${is('b')}, A]`,
    ]);
  });

  it('finds several clusters in one workflow, in the order of its nodes', () => {
    const clusters = clustersOf(
      [
        ...agents('Lone', 'A', 'B', 'C', 'D'),
        router('a', 'b'),
        switch3('Second', 'base.switch@3', tierRules('c', 'd')),
      ],
      [
        ...chain('Start', 'Second'),
        ...main('Second', ['D'], ['C']),
        ...chain('C', 'Router'),
        ...main('Router', ['A'], ['B']),
      ],
    );
    expect(summary(clusters)).toEqual(['Lone', `Router [A: ${is('a')}, B]`, `Second [D: ${is('c')}, C]`]);
  });

  it('keeps apart what cannot be told from one another behind the router', () => {
    const two = agents('A', 'B');
    const wires = main('Router', ['A'], ['B']);
    const apart = (part: Part): readonly string[] => summary(clustersOf([part, ...two], wires));
    const alone = (reason: string): readonly string[] => [`A (${reason})`, `B (${reason})`];
    const reads = (left: string): Part =>
      switch3('Router', 'base.switch@3.4', [
        { key: 'a', conditions: conditions([{ ...tierIs('a'), left }]) },
        ...tierRules('b'),
      ]);
    expect(apart(withParameters(router('a', 'b'), { options: { allMatchingOutputs: true } }))).toEqual(
      alone('all-outputs'),
    );
    expect(apart({ ...router('a', 'b'), onError: 'continueRegularOutput' })).toEqual(alone('router-settings'));
    expect(apart({ ...router('a', 'b'), alwaysOutputData: true })).toEqual(alone('router-settings'));
    expect(apart(withParameters(router(), { rules: '={{ $json.rules }}' }))).toEqual(alone('router-unreadable'));
    expect(apart(reads('={{ $now.hour }}'))).toEqual(alone('condition-time'));
    expect(apart(reads("={{ $node['Start'].json.tier }}"))).toEqual(alone('condition-position'));
    expect(apart(reads('={{ $itemIndex }}'))).toEqual(alone('condition-position'));
    expect(apart(reads('={{ $json.( }}'))).toEqual(alone('condition-unreadable'));
    expect(apart({ ...router('a', 'b'), disabled: true })).toEqual(['A', 'B']);
    expect(summary(clustersOf([router('a', 'b'), ...two], main('Router', ['A', 'B'])))).toEqual(alone('same-output'));
  });

  it('needs no condition of the last output', () => {
    const last = { key: 'b', conditions: conditions([{ ...tierIs('b'), left: '={{ $now.hour }}' }]) };
    const parts = [switch3('Router', 'base.switch@3.4', [...tierRules('a'), last]), ...agents('A', 'B')];
    expect(summary(clustersOf(parts, main('Router', ['A'], ['B'])))).toEqual([`Router [A: ${is('a')}, B]`]);
  });

  it('keeps an agent apart that gets items from elsewhere, or that is disabled', () => {
    const parts = [router('a', 'b', 'c'), ...agents('A', 'B', 'C')];
    const wires = main('Router', ['A'], ['B'], ['C']);
    expect(summary(clustersOf(parts, [...wires, ...chain('Start', 'B')]))).toEqual([
      `Router [A: ${is('a')}, C]`,
      'B (other-inputs)',
    ]);
    const disabled = parts.map((part) => (part.name === 'C' ? { ...part, disabled: true } : part));
    expect(summary(clustersOf(disabled, wires))).toEqual([`Router [A: ${is('a')}, B]`, 'C (disabled)']);
  });

  it('merges what is behind an inner router when the outer one cannot be carried', () => {
    const outer = switch3('Outer', 'base.switch@3.4', [
      { key: 'x', conditions: conditions([{ ...tierIs('x'), left: '={{ $now.hour }}' }]) },
      ...tierRules('y'),
    ]);
    const clusters = clustersOf(
      [outer, router('a', 'b'), ...agents('A', 'B', 'C')],
      [...main('Outer', ['Router'], ['C']), ...main('Router', ['A'], ['B'])],
    );
    expect(summary(clusters)).toEqual([`Router [A: ${is('a')}, B]`, 'C (condition-time)']);
  });

  it('merges the agents of filters beside one another that no item passes twice', () => {
    const filters = [yesNo('Is a', 'a', 'filter@2.2'), yesNo('Is b', 'b', 'filter@2.2')];
    const wires = [...main('Start', ['Is a', 'Is b']), ...chain('Is a', 'A'), ...chain('Is b', 'B')];
    expect(summary(clustersOf([...filters, ...agents('A', 'B')], wires))).toEqual([`Is a > Is b [A: ${is('a')}, B]`]);
    const same = [yesNo('Is a', 'a', 'filter@2.2'), yesNo('Is b', 'A', 'filter@2.2')];
    expect(summary(clustersOf([...same, ...agents('A', 'B')], wires))).toEqual([
      'A (overlapping-filters)',
      'B (overlapping-filters)',
    ]);
  });

  it('makes branches of the models of a Model Selector, chosen by the first item', () => {
    const rule = (modelIndex: number, tier: string) => ({ modelIndex, conditions: conditions([tierIs(tier)]) });
    const clusters = clustersOf(
      [
        ...agents('A'),
        node('Selector', 'ai.modelSelector@1', { rules: { rule: [rule(2, 'b'), rule(1, 'a')] } }),
        node('One', 'ai.lmChatOpenRouter@1'),
        node('Two', 'ai.lmChatOpenRouter@1'),
      ],
      [
        ...attach('Selector', 'ai_languageModel', ['A']),
        ...attach('One', 'ai_languageModel', ['Selector']),
        ...attach('Two', 'ai_languageModel:1', ['Selector']),
      ],
    );
    const first = (tier: string): string => `$input.first().json.tier === '${tier}'`;
    expect(summary(clusters)).toEqual([`Selector [A: ${first('b')}, A: ${first('a')}]`]);
    expect(clusters[0]?.branches.map(({ models }) => models[0]?.name)).toEqual(['Two', 'One']);
  });

  it.each([
    ['the first model where a rule names none', { more: {}, rules: [{}], models: ['One'] }],
    [
      'no model that is disabled',
      { more: { disabled: true }, rules: [{ modelIndex: 1 }, { modelIndex: 2 }], models: ['Selector'] },
    ],
  ])('takes %s of a Model Selector', (_which, { more, rules, models }) => {
    const rule = rules.map((one) => ({ ...one, conditions: conditions([tierIs('a')]) }));
    const clusters = clustersOf(
      [
        ...agents('A'),
        node('Selector', 'ai.modelSelector@1', { rules: { rule } }),
        node('One', 'ai.lmChatOpenRouter@1'),
        { ...node('Two', 'ai.lmChatOpenRouter@1'), ...more },
      ],
      [
        ...attach('Selector', 'ai_languageModel', ['A']),
        ...attach('One', 'ai_languageModel', ['Selector']),
        ...attach('Two', 'ai_languageModel:1', ['Selector']),
      ],
    );
    expect(clusters[0]?.branches.map((branch) => branch.models[0]?.name)).toEqual(models);
  });

  it('survives routers in a circle and thousands of them in a row', () => {
    const circle = [yesNo('P', 'p'), yesNo('Q', 'q'), ...agents('A', 'B')];
    const wires = [...main('P', ['Q'], ['A']), ...main('Q', ['P'], ['B'])];
    expect(summary(clustersOf(circle, wires))).toEqual(['A', 'B']);
    const names = Array.from({ length: 3000 }, (_, index) => `IF ${index}`);
    const nodes = names.flatMap((name) => [yesNo(name, name), ...agents(`Agent of ${name}`)]);
    const link = (to: string | undefined) => (to === undefined ? [] : [{ node: to, type: 'main', index: 0 }]);
    const connections = Object.fromEntries(
      names.map((name, index) => [name, { main: [link(`Agent of ${name}`), link(names[index + 1])] }]),
    );
    const row = findClusters(parseWorkflow({ nodes, connections }));
    expect(row.flatMap(({ branches }) => branches)).toHaveLength(3000);
    expect(row.every(({ router: outer }) => outer !== undefined)).toBe(true);
  });
});
