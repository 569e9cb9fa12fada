import { attach, chain, main, node, workflow } from './workflow-builder';
import {
  agent,
  answer,
  branches,
  first,
  OPENAI,
  openRouter,
  prompts,
  start,
  tierSwitch,
  type WorkflowFixture,
} from './workflow-parts';

const CUSTOMER = '={{ $json.message }}';

/** Other providers, and nodes behind that can tell runs apart. */
export function limitFixtures(): Record<string, WorkflowFixture> {
  return {
    'merge-behind': { workflow: mergeBehind() },
    'merged-runs': { workflow: { ...mergeBehind(), name: 'Merged runs' }, allow: ['merged-runs'] },
    'openai-branches': { workflow: openAiBranches() },
    'several-providers': { workflow: severalProviders(), isLeft: true },
    'different-next-nodes': { workflow: differentNextNodes(), isLeft: true },
    'fallback-models': { workflow: fallbackModels(), isLeft: true },
  };
}

/** Behind the agents all items are seen as one: whether they come in one run or in several can be told. */
function mergeBehind(): WorkflowFixture['workflow'] {
  const { parts, wires, agents } = branches(first(3), '3', () => prompts(CUSTOMER, 'You are a clerk.'));
  const { part, pinData } = start(['nano', 'small', 'optima']);
  return workflow('Merge behind', {
    parts: [
      part,
      tierSwitch('3.2', ['nano', 'small', 'optima']),
      ...parts,
      node('Together', 'base.aggregate@1', {
        aggregate: 'aggregateIndividualFields',
        fieldsToAggregate: { fieldToAggregate: [{ fieldToAggregate: 'output' }] },
        options: {},
      }),
    ],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', ...agents.map((name) => [name])),
      ...wires,
      ...agents.flatMap((name) => chain(name, 'Together')),
    ],
    pinData,
  });
}

/** The provider's own models, chosen from a list and by id. */
function openAiBranches(): WorkflowFixture['workflow'] {
  const { part, pinData } = start(['small', 'pro']);
  const model = (name: string, id: string, version: string): ReturnType<typeof node> => ({
    ...node(name, `ai.lmChatOpenAi@${version}`, {
      model: version === '1' ? id : { __rl: true, mode: 'list', value: id, cachedResultName: id },
      ...(version === '1.3' ? { responsesApiEnabled: false } : {}),
      options: { temperature: 0.2, maxTokens: 256 },
    }),
    credentials: OPENAI,
  });
  return workflow('OpenAI branches', {
    parts: [
      part,
      tierSwitch('3.4', ['small', 'pro']),
      agent('Agent small', '3.1', prompts(CUSTOMER, 'You are small.')),
      model('Model small', 'gpt-4o-mini', '1'),
      agent('Agent pro', '3.1', prompts(CUSTOMER, 'You are pro.')),
      model('Model pro', 'gpt-4o', '1.2'),
      answer(),
    ],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', ['Agent small'], ['Agent pro']),
      ...attach('Model small', 'ai_languageModel', ['Agent small']),
      ...attach('Model pro', 'ai_languageModel', ['Agent pro']),
      ...chain('Agent small', 'Answer'),
      ...chain('Agent pro', 'Answer'),
    ],
    pinData,
  });
}

/** One branch at OpenRouter, one at Anthropic itself: no one node can stand for both. */
function severalProviders(): WorkflowFixture['workflow'] {
  const { parts, wires } = branches(first(1), '3', () => prompts(CUSTOMER, 'You are a clerk.'));
  const { part, pinData } = start(['nano', 'expert']);
  return workflow('Several providers', {
    parts: [
      part,
      tierSwitch('3.2', ['nano', 'expert']),
      ...parts,
      agent('AI Agent expert', '3', prompts(CUSTOMER, 'You are an expert.')),
      {
        ...node('Anthropic', 'ai.lmChatAnthropic@1.3', {
          model: { __rl: true, mode: 'list', value: 'claude-sonnet-4-5' },
          options: {},
        }),
        credentials: { anthropicApi: { id: 'credential-anthropic', name: 'Anthropic account' } },
      },
      answer(),
    ],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', ['AI Agent nano'], ['AI Agent expert']),
      ...wires,
      ...attach('Anthropic', 'ai_languageModel', ['AI Agent expert']),
      ...chain('AI Agent nano', 'Answer'),
      ...chain('AI Agent expert', 'Answer'),
    ],
    pinData,
  });
}

/** Behind each agent stands a node of its own. */
function differentNextNodes(): WorkflowFixture['workflow'] {
  const { parts, wires, agents } = branches(first(2), '3.1', () => prompts(CUSTOMER, 'You are a clerk.'));
  const { part, pinData } = start(['nano', 'small']);
  return workflow('Different next nodes', {
    parts: [part, tierSwitch('3.4', ['nano', 'small']), ...parts, answer('Nano Answer'), answer('Small Answer')],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', ...agents.map((name) => [name])),
      ...wires,
      ...chain('AI Agent nano', 'Nano Answer'),
      ...chain('AI Agent small', 'Small Answer'),
    ],
    pinData,
  });
}

/** Each branch has a model of its own; the second model is there for the case that it fails. */
function fallbackModels(): WorkflowFixture['workflow'] {
  const parameters = { ...prompts(CUSTOMER, 'You are a clerk.'), needsFallback: true };
  const { parts, wires, agents } = branches(first(2), '3.1', () => parameters);
  const { part, pinData } = start(['nano', 'small']);
  return workflow('Fallback models', {
    parts: [
      part,
      tierSwitch('3.4', ['nano', 'small']),
      ...parts,
      openRouter('Fallback', 'mistralai/mistral-small', { temperature: 0.3 }),
      answer(),
    ],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', ...agents.map((name) => [name])),
      ...wires,
      ...attach('Fallback', 'ai_languageModel:1', agents),
      ...agents.flatMap((name) => chain(name, 'Answer')),
    ],
    pinData,
  });
}
