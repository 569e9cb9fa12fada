import type { JsonObject } from '../../../runtime/util/json';
import { attach, chain, main, node, type Part, workflow } from './workflow-builder';
import {
  agent,
  answer,
  branches,
  type BranchModel,
  conditions,
  first,
  FIVE,
  openRouter,
  prompts,
  type Rule,
  set,
  start,
  switch3,
  tierIs,
  tierSwitch,
  type WorkflowFixture,
} from './workflow-parts';

const TIERS = FIVE.map(({ tier }) => tier);
const CUSTOMER = '={{ $json.message }}';
const rule = (tier: string): Rule => ({
  key: tier,
  conditions: conditions([tierIs(tier)]),
});

const withOptions = (part: Part, options: JsonObject): Part => ({
  ...part,
  parameters: { ...part.parameters, options },
});

/** Ways to get to the agents. */
export function routerFixtures(): Record<string, WorkflowFixture> {
  return {
    'five-branches': { workflow: fiveBranches() },
    'own-tiers': { workflow: ownTiers() },
    'if-cascade': { workflow: ifCascade() },
    'nested-routers': { workflow: nestedRouters() },
    'filter-chain': { workflow: filterChain() },
    'two-clusters': { workflow: twoClusters() },
    'lone-agent': { workflow: loneAgent() },
    'model-selector': { workflow: modelSelector() },
    'other-branches': { workflow: otherBranches() },
    'compound-rules': { workflow: compoundRules() },
  };
}

interface TierSwitch {
  readonly version: string;
  readonly tiers: readonly string[];
  /** The tiers of the items. */
  readonly items: readonly string[];
}

/** A Switch with an output a tier, its agents, and one node behind all of them. */
function behindSwitch(
  name: string,
  { parts, wires, agents }: ReturnType<typeof branches>,
  { version, tiers, items }: TierSwitch,
): WorkflowFixture['workflow'] {
  const { part, pinData } = start(items);
  return workflow(name, {
    parts: [part, tierSwitch(version, tiers), ...parts, answer()],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', ...agents.map((agent) => [agent])),
      ...wires,
      ...agents.flatMap((agent) => chain(agent, 'Answer')),
    ],
    pinData,
  });
}

/** The workflow that everybody has: a Switch by tier and an agent a tier, each like the tier of its name. */
function fiveBranches(): WorkflowFixture['workflow'] {
  const made = branches(FIVE, '3.1', () => prompts(CUSTOMER, 'You help customers of a bicycle shop.'));
  return behindSwitch('Five branches', made, { version: '3.4', tiers: TIERS, items: TIERS });
}

/** Models, temperatures, prompts and limits that no tier has, some of them expressions. */
function ownTiers(): WorkflowFixture['workflow'] {
  const models: readonly BranchModel[] = [
    { tier: 'nano', model: 'meta-llama/llama-3.1-8b-instruct', options: {} },
    { tier: 'small', model: 'qwen/qwen3-8b', options: { temperature: 0.9, maxTokens: 300 } },
    { tier: 'pro', model: 'openai/gpt-4o-mini', options: { temperature: '={{ $json.vip ? 0 : 0.4 }}' } },
    { tier: 'expert', model: 'anthropic/claude-3-5-sonnet', options: { temperature: 0 } },
  ];
  const texts: Readonly<Record<string, ReturnType<typeof prompts>>> = {
    nano: prompts('=Answer briefly: {{ $json.message }}', 'You are brief.'),
    small: prompts(CUSTOMER, '=You work for {{ $json.shop.name }}, "quoted" and `ticked` $\{not} \\ it.\nBe kind.', {
      maxIterations: 3,
    }),
    pro: prompts(
      '={{ $json.message + " (" + $json.n + ")" }}',
      "It's a 'plain' text with $json and {{ no expression }}.",
    ),
    expert: prompts(CUSTOMER, undefined, { maxIterations: 15 }),
  };
  const made = branches(models, '2.2', ({ tier }) => texts[tier] ?? {});
  const tiers = models.map(({ tier }) => tier);
  return behindSwitch('Own tiers', made, { version: '3.2', tiers, items: [...tiers, 'nano', 'small'] });
}

/** IF after IF; the last agent stands on the last "false". */
function ifCascade(): WorkflowFixture['workflow'] {
  const { parts, wires, agents } = branches(first(3), '3', ({ tier }) => prompts(CUSTOMER, `You answer for ${tier}.`));
  const [nano = '', small = '', optima = ''] = agents;
  const { part, pinData } = start(['nano', 'small', 'optima', 'whatever']);
  return workflow('IF cascade', {
    parts: [
      part,
      node('Is nano?', 'base.if@2.2', { conditions: conditions([tierIs('nano')]), options: {} }),
      node('Is small?', 'base.if@1', {
        conditions: { string: [{ value1: '={{ $json.tier }}', operation: 'equal', value2: 'small' }] },
      }),
      ...parts,
      answer(),
    ],
    wires: [
      ...chain('Start', 'Is nano?'),
      ...main('Is nano?', [nano], ['Is small?']),
      ...main('Is small?', [small], [optima]),
      ...wires,
      ...agents.flatMap((name) => chain(name, 'Answer')),
    ],
    pinData,
  });
}

/** A Switch by plan whose last output leads to a second Switch. */
function nestedRouters(): WorkflowFixture['workflow'] {
  const { parts, wires, agents } = branches(first(4), '3.1', () => prompts(CUSTOMER, 'You are a clerk.'));
  const [nano = '', small = '', optima = '', pro = ''] = agents;
  const { part, pinData } = start(['nano', 'small', 'optima', 'pro']);
  return workflow('Nested routers', {
    parts: [
      part,
      withOptions(switch3('Plan Router', 'base.switch@3.2', [rule('nano'), rule('small')]), {
        fallbackOutput: 'extra',
      }),
      tierSwitch('3', ['optima', 'pro'], 'Paid Router'),
      ...parts,
      answer(),
    ],
    wires: [
      ...chain('Start', 'Plan Router'),
      ...main('Plan Router', [nano], [small], ['Paid Router']),
      ...main('Paid Router', [optima], [pro]),
      ...wires,
      ...agents.flatMap((name) => chain(name, 'Answer')),
    ],
    pinData,
  });
}

/** Every item goes to every Filter; each lets its own through. */
function filterChain(): WorkflowFixture['workflow'] {
  const { parts, wires, agents } = branches(first(3), '2.1', ({ tier }) =>
    prompts(CUSTOMER, `You answer for ${tier}.`),
  );
  const filters = first(3).map(({ tier }) => `Only ${tier}`);
  const { part, pinData } = start(['nano', 'small', 'optima']);
  return workflow('Filter chain', {
    parts: [
      part,
      ...first(3).map(({ tier }, index) =>
        node(filters[index] ?? '', 'base.filter@2.2', { conditions: conditions([tierIs(tier)]), options: {} }),
      ),
      ...parts,
      answer(),
    ],
    wires: [
      ...main('Start', filters),
      ...filters.flatMap((name, index) => chain(name, agents[index] ?? '', 'Answer')),
      ...wires,
    ],
    pinData,
  });
}

/** Two routers, each with its agents; the answers of the first are the questions of the second. */
function twoClusters(): WorkflowFixture['workflow'] {
  const { parts, wires, agents } = branches(first(2), '3', () => prompts(CUSTOMER, 'You translate.'));
  const review = first(2).map(({ tier }) => `Reviewer ${tier}`);
  const { part, pinData } = start(['nano', 'small']);
  const carry = set('Draft', {
    n: "={{ $('Start').item.json.n }}",
    tier: "={{ $('Start').item.json.tier }}",
    draft: '={{ $json.output }}',
  });
  return workflow('Two clusters', {
    parts: [
      part,
      tierSwitch('3.4', ['nano', 'small']),
      ...parts,
      carry,
      tierSwitch('3.4', ['nano', 'small'], 'Review Router'),
      ...first(2).flatMap(({ tier, model, options }, index) => [
        agent(review[index] ?? '', '3', prompts('=Review: {{ $json.draft }}', 'You review.')),
        openRouter(`Review model ${tier}`, model, options),
      ]),
      answer(),
    ],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', ...agents.map((name) => [name])),
      ...wires,
      ...agents.flatMap((name) => chain(name, 'Draft')),
      ...chain('Draft', 'Review Router'),
      ...main('Review Router', ...review.map((name) => [name])),
      ...first(2).flatMap(({ tier }, index) =>
        attach(`Review model ${tier}`, 'ai_languageModel', [review[index] ?? '']),
      ),
      ...review.flatMap((name) => chain(name, 'Answer')),
    ],
    pinData,
  });
}

function loneAgent(): WorkflowFixture['workflow'] {
  const { part, pinData } = start(['nano', 'pro']);
  return workflow('Lone agent', {
    parts: [
      part,
      agent('Assistant', '3.1', prompts(CUSTOMER, '=You help with tier {{ $json.tier }}.')),
      openRouter('Chat Model', 'openai/gpt-4.1-mini', { temperature: 0.25, maxTokens: 700 }),
      answer(),
    ],
    wires: [...chain('Start', 'Assistant', 'Answer'), ...attach('Chat Model', 'ai_languageModel', ['Assistant'])],
    pinData,
  });
}

/** One agent; a Model Selector chooses among three models. */
function modelSelector(): WorkflowFixture['workflow'] {
  const models = first(3);
  const { part, pinData } = start(['nano', 'small', 'optima']);
  const selector = node('Model Selector', 'ai.modelSelector@1', {
    numberInputs: 3,
    rules: {
      rule: models.map(({ tier }, index) => ({ modelIndex: index + 1, conditions: conditions([tierIs(tier)]) })),
    },
  });
  return workflow('Model Selector', {
    parts: [
      part,
      agent('Assistant', '3', prompts(CUSTOMER, 'You help.')),
      selector,
      ...models.map(({ tier, model, options }) => openRouter(`Model ${tier}`, model, options)),
      answer(),
    ],
    wires: [
      ...chain('Start', 'Assistant', 'Answer'),
      ...attach('Model Selector', 'ai_languageModel', ['Assistant']),
      ...models.flatMap(({ tier }, index) => attach(`Model ${tier}`, `ai_languageModel:${index}`, ['Model Selector'])),
    ],
    pinData,
  });
}

/** Branches between the agents that have nothing to do with them, one without any link, and a fallback. */
function otherBranches(): WorkflowFixture['workflow'] {
  const { parts, wires, agents } = branches(first(3), '3', () => prompts(CUSTOMER, 'You are a clerk.'));
  const [nano = '', small = '', optima = ''] = agents;
  const { part, pinData } = start(['nano', 'ping', 'small', 'silence', 'optima', 'else']);
  return workflow('Other branches', {
    parts: [
      part,
      withOptions(switch3('Tier Router', 'base.switch@3.3', ['nano', 'ping', 'small', 'silence', 'optima'].map(rule)), {
        fallbackOutput: 'extra',
        renameFallbackOutput: 'Else',
      }),
      ...parts,
      answer(),
      set('Pong', { n: "={{ $('Start').item.json.n }}", answer: 'pong' }),
      set('Nobody', { n: "={{ $('Start').item.json.n }}", answer: 'nobody' }),
    ],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', [nano], ['Pong'], [small], [], [optima, 'Pong'], ['Nobody']),
      ...wires,
      ...agents.flatMap((name) => chain(name, 'Answer')),
    ],
    pinData,
  });
}

/** Rules of several conditions, numbers, booleans and "or". */
function compoundRules(): WorkflowFixture['workflow'] {
  const { parts, wires, agents } = branches(first(3), '3.1', () => prompts(CUSTOMER, 'You are a clerk.'));
  const vip = { left: '={{ $json.vip }}', right: '', type: 'boolean', operation: 'true' };
  const low = { left: '={{ $json.level }}', right: 1, type: 'number', operation: 'lt' };
  const { part, pinData } = start(['nano', 'small', 'pro', 'expert']);
  return workflow('Compound rules', {
    parts: [
      part,
      switch3('Router', 'base.switch@3.2', [
        { key: 'low', conditions: conditions([low, tierIs('nano')], 'and') },
        { key: 'middle', conditions: conditions([tierIs('small'), tierIs('pro')], 'or') },
        { key: 'vip', conditions: conditions([vip]) },
      ]),
      ...parts,
      answer(),
    ],
    wires: [
      ...chain('Start', 'Router'),
      ...main('Router', ...agents.map((name) => [name])),
      ...wires,
      ...agents.flatMap((name) => chain(name, 'Answer')),
    ],
    pinData,
  });
}
