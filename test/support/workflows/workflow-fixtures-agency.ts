import { attach, chain, main, type Part, type Wire, workflow } from './workflow-builder';
import {
  agent,
  answer,
  branches,
  type BranchModel,
  bufferMemory,
  first,
  FIVE,
  httpTool,
  openRouter,
  prompts,
  set,
  start,
  tierSwitch,
  type WorkflowFixture,
} from './workflow-parts';

const TIERS = FIVE.map(({ tier }) => tier);
const CUSTOMER = '={{ $json.message }}';

/** What somebody asks for who has many tenants and databases that have grown. */
export function agencyFixtures(): Record<string, WorkflowFixture> {
  return {
    'mapped-tiers': {
      workflow: behindRouter('Mapped tiers', { models: OWN }),
      asked: {
        tierMap: new Map([
          ['AI Agent nano', 'house'],
          ['qwen/qwen3-8b', 'small'],
        ]),
      },
    },
    'copied-tools': { workflow: copiedTools() },
    'dropped-router': {
      workflow: behindRouter('Dropped router', { models: FIVE, hasRest: true }),
      asked: { dropRouter: true },
    },
    'dropped-partial-router': {
      workflow: behindRouter('Dropped partial router', { models: FIVE }),
      asked: { dropRouter: true },
      allow: ['unmatched-items'],
    },
    'kept-router': {
      workflow: behindRouter('Kept router', { models: first(2), aside: 'Count' }),
      asked: { dropRouter: true },
    },
    'each-agent': { workflow: differing(), asked: { each: true } },
    'v3-modes': { workflow: removedModes(), asked: { v3: true } },
  };
}

/** Models of tiers with settings of their own. */
const OWN: readonly BranchModel[] = [
  { tier: 'nano', model: 'meta-llama/llama-3.1-8b-instruct', options: {} },
  { tier: 'small', model: 'qwen/qwen3-8b', options: { temperature: 0.1, maxTokens: 800 } },
  { tier: 'pro', model: 'openai/gpt-4o-mini', options: { temperature: 0.4, maxTokens: 2000 } },
];

interface Routed {
  readonly models: readonly BranchModel[];
  /** The last agent also gets what no rule takes. */
  readonly hasRest?: boolean;
  /** A node beside the agents that the last output leads to. */
  readonly aside?: string;
  readonly parts?: readonly Part[];
  readonly wires?: readonly Wire[];
}

/** A Switch by tier, the agents behind it, and one node behind all of them. */
function behindRouter(name: string, routed: Routed): WorkflowFixture['workflow'] {
  const { models, hasRest = false, aside, parts = [], wires = [] } = routed;
  const tiers = models.map(({ tier }) => tier);
  const made = branches(models, '3.1', () => prompts(CUSTOMER, 'You help customers.'));
  const { part, pinData } = start(tiers.filter((tier) => TIERS.includes(tier)));
  const outputs = made.agents.map((one) => [one]);
  const rest = hasRest ? [[made.agents.at(-1) ?? '']] : [];
  const beside = aside === undefined ? [] : [aside];
  outputs.at(-1)?.push(...beside);
  return workflow(name, {
    parts: [
      part,
      withRest(tierSwitch('3.4', tiers), hasRest),
      ...made.parts,
      answer(),
      ...beside.map((one) => set(one, { seen: 'yes' })),
      ...parts,
    ],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', ...outputs, ...rest),
      ...made.wires,
      ...made.agents.flatMap((one) => chain(one, 'Answer')),
      ...wires,
    ],
    pinData,
  });
}

function withRest(router: Part, hasRest: boolean): Part {
  return hasRest ? { ...router, parameters: { ...router.parameters, options: { fallbackOutput: 'extra' } } } : router;
}

/** Five branches whose settings are nearly those of the five tiers, each with a copy of one tool. */
export function fiveNearly(): WorkflowFixture['workflow'] {
  return behindRouter('Five nearly', {
    models: FIVE.map((branch) => ({ ...branch, options: { ...branch.options, temperature: 0.6 } })),
    parts: TIERS.map((tier) => httpTool(`find_orders_${tier}`)),
    wires: TIERS.flatMap((tier) => attach(`find_orders_${tier}`, 'ai_tool', [`AI Agent ${tier}`])),
  });
}

/** Two branches have a copy each of one tool, under names of their own, and the third has another one. */
function copiedTools(): WorkflowFixture['workflow'] {
  const tools: readonly (readonly [string, string, Part])[] = [
    ['find_orders_small', 'AI Agent small', httpTool('find_orders_small')],
    ['find_orders_optima', 'AI Agent optima', httpTool('find_orders_optima')],
    ['find_refunds', 'AI Agent optima', httpTool('find_refunds', 'Finds the refunds of a customer')],
  ];
  return behindRouter('Copied tools', {
    models: first(3),
    parts: tools.map(([, , part]) => part),
    wires: tools.flatMap(([tool, owner]) => attach(tool, 'ai_tool', [owner])),
  });
}

/** Three branches, of which two share a memory. */
function differing(): WorkflowFixture['workflow'] {
  return behindRouter('Each agent', {
    models: first(3),
    parts: [bufferMemory('Memory', '1.3', { sessionIdType: 'customKey', sessionKey: '={{ $json.sessionId }}' })],
    wires: attach('Memory', 'ai_memory', ['AI Agent nano', 'AI Agent small']),
  });
}

/** Two agents one after the other, in modes that n8n 3 no longer has. */
function removedModes(): WorkflowFixture['workflow'] {
  const { part, pinData } = start(['small']);
  const mode = (name: string): ReturnType<typeof prompts> => ({ ...prompts(CUSTOMER, 'You plan.'), agent: name });
  return workflow('Removed modes', {
    parts: [
      part,
      agent('Thinker', '1.6', mode('reActAgent')),
      agent('Caller', '1.7', mode('openAiFunctionsAgent')),
      openRouter('Model', 'qwen/qwen3-8b', { temperature: 0.2, maxTokens: 800 }),
      answer(),
    ],
    wires: [
      ...chain('Start', 'Thinker', 'Caller', 'Answer'),
      ...attach('Model', 'ai_languageModel', ['Thinker', 'Caller']),
    ],
    pinData,
  });
}
