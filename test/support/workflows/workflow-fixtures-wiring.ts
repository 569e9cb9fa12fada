import type { JsonObject } from '../../../runtime/util/json';
import { attach, chain, main, node, type Part, type Wire, workflow } from './workflow-builder';
import {
  agent,
  answer,
  branches,
  type BranchModel,
  bufferMemory,
  colleague,
  first,
  httpTool,
  openRouter,
  prompts,
  set,
  shopServer,
  start,
  tierSwitch,
  type WorkflowFixture,
} from './workflow-parts';

const CUSTOMER = '={{ $json.message }}';

/** Three questions of one session, two of another, and one. */
const CONVERSATIONS = ['nano', 'small', 'nano', 'optima', 'nano', 'small'];

/** What is wired to the agents and what stands around them. */
export function wiringFixtures(): Record<string, WorkflowFixture> {
  return {
    'shared-memory': { workflow: sharedMemory() },
    'separate-memories': { workflow: separateMemories() },
    'memory-keys': { workflow: memoryKeys(), allow: ['memory-keys'] },
    'fallback-model': { workflow: fallbackModel() },
    'tools-as-rows': { workflow: sharedTools('Tools as rows') },
    'tools-connected': { workflow: sharedTools('Tools connected'), tools: 'connected' },
    'tools-by-branch': { workflow: toolsByBranch() },
    'tools-that-stay': { workflow: toolsThatStay() },
    'error-outputs': { workflow: errorOutputs() },
    'output-parser': { workflow: outputParser() },
    'unicode-names': { workflow: unicodeNames() },
    'named-in-expressions': { workflow: namedInExpressions() },
    'asked-for-runs': { workflow: askedForRuns(), allow: ['expressions'] },
  };
}

interface Shape {
  readonly name: string;
  readonly models: readonly BranchModel[];
  /** The tiers of the items; one of each branch by default. */
  readonly items?: readonly string[];
  readonly version: string;
  readonly parameters?: (branch: BranchModel) => JsonObject;
  readonly parts?: readonly Part[];
  readonly wires?: (agents: readonly string[]) => readonly Wire[];
  readonly behind?: readonly Part[];
}

/** Start, Switch by tier, agents, Answer; and what the fixture adds. */
function byTier(shape: Shape): WorkflowFixture['workflow'] {
  const { name, models, version, parameters, parts = [], wires = () => [], behind = [answer()] } = shape;
  const made = branches(models, version, parameters ?? (() => prompts(CUSTOMER, 'You are a clerk.')));
  const tiers = models.map(({ tier }) => tier);
  const { part, pinData } = start(shape.items ?? tiers);
  return workflow(name, {
    parts: [part, tierSwitch('3.4', tiers), ...made.parts, ...parts, ...behind],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', ...made.agents.map((agent) => [agent])),
      ...made.wires,
      ...wires(made.agents),
      ...made.agents.flatMap((agent) => chain(agent, 'Answer')),
    ],
    pinData,
  });
}

function sharedMemory(): WorkflowFixture['workflow'] {
  return byTier({
    name: 'Shared memory',
    models: first(3),
    items: CONVERSATIONS,
    version: '3.1',
    parts: [
      bufferMemory('Memory', '1.3', {
        sessionIdType: 'customKey',
        sessionKey: '={{ $json.sessionId }}',
        contextWindowLength: 10,
      }),
    ],
    wires: (agents) => attach('Memory', 'ai_memory', agents),
  });
}

/** A memory a branch, with keys that only the branch has. */
function separateMemories(): WorkflowFixture['workflow'] {
  return memoryByBranch('Separate memories', '1.3');
}

/** The same in a version that knew no other way to name a session. */
function memoryKeys(): WorkflowFixture['workflow'] {
  return memoryByBranch('Memory keys', '1.1');
}

function memoryByBranch(name: string, version: string): WorkflowFixture['workflow'] {
  const type: JsonObject = version === '1.1' ? {} : { sessionIdType: 'customKey' };
  return byTier({
    name,
    models: first(3),
    items: CONVERSATIONS,
    version: '2.2',
    parts: first(3).map(({ tier }) =>
      bufferMemory(`Memory ${tier}`, version, { ...type, sessionKey: `=${tier}-{{ $json.sessionId }}` }),
    ),
    wires: (agents) =>
      first(3).flatMap(({ tier }, index) => attach(`Memory ${tier}`, 'ai_memory', [agents[index] ?? ''])),
  });
}

/** One chat model and one for the case that it fails, for both branches. */
function fallbackModel(): WorkflowFixture['workflow'] {
  const agents = ['AI Agent brief', 'AI Agent long'];
  const { part, pinData } = start(['nano', 'small']);
  const more = { needsFallback: true };
  return workflow('Fallback model', {
    parts: [
      part,
      tierSwitch('3.4', ['nano', 'small']),
      agent('AI Agent brief', '3.1', { ...prompts(CUSTOMER, 'You are brief.'), ...more }),
      agent('AI Agent long', '3.1', { ...prompts(CUSTOMER, 'You tell stories.'), ...more }),
      openRouter('Broken', 'openai/gpt-4o-mini-broken', { temperature: 0.3 }),
      openRouter('Fallback', 'mistralai/mistral-small', { temperature: 0.4 }),
      answer(),
    ],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', ...agents.map((name) => [name])),
      ...attach('Broken', 'ai_languageModel', agents),
      ...attach('Fallback', 'ai_languageModel:1', agents),
      ...agents.flatMap((name) => chain(name, 'Answer')),
    ],
    pinData,
  });
}

/** Every kind of tool that can become a row, shared by all branches. */
function sharedTools(name: string): WorkflowFixture['workflow'] {
  const tools = ['Find Orders', 'weather', 'Shop Server', 'Call Colleague'];
  return byTier({
    name,
    models: first(3),
    version: '2.2',
    parts: [
      httpTool('Find Orders'),
      node('weather', 'ai.toolHttpRequest@1.1', {
        toolDescription: 'Gives the weather of a city',
        url: 'http://tools.example.com/weather/{city}',
        placeholderDefinitions: { values: [{ name: 'city', description: 'Name of the city', type: 'string' }] },
      }),
      shopServer(),
      colleague(),
    ],
    wires: (agents) => tools.flatMap((tool) => attach(tool, 'ai_tool', agents)),
  });
}

/** Not every tier may use every tool. */
function toolsByBranch(): WorkflowFixture['workflow'] {
  return byTier({
    name: 'Tools by branch',
    models: first(3),
    version: '2.2',
    parts: [httpTool('find_orders'), httpTool('find_refunds', 'Finds the refunds of a customer')],
    wires: ([, small = '', optima = '']) => [
      ...attach('find_orders', 'ai_tool', [small, optima]),
      ...attach('find_refunds', 'ai_tool', [optima]),
    ],
  });
}

/** No row can stand for these. */
function toolsThatStay(): WorkflowFixture['workflow'] {
  return byTier({
    name: 'Tools that stay',
    models: first(2),
    version: '2.2',
    parts: [
      node('shout', 'ai.toolCode@1.1', {
        name: 'shout',
        description: 'Gives a text back in capital letters',
        jsCode: 'return query.toUpperCase();',
      }),
      node('Calculator', 'ai.toolCalculator@1'),
    ],
    wires: (agents) => ['shout', 'Calculator'].flatMap((tool) => attach(tool, 'ai_tool', agents)),
  });
}

/** What fails goes another way. */
function errorOutputs(): WorkflowFixture['workflow'] {
  const { parts, wires, agents } = branches(first(2), '3.1', () => prompts(CUSTOMER, 'You fail with the small one.'));
  const { part, pinData } = start(['nano', 'small']);
  const failing = parts.map((one) => (agents.includes(one.name) ? { ...one, onError: 'continueErrorOutput' } : one));
  return workflow('Error outputs', {
    parts: [part, tierSwitch('3.4', ['nano', 'small']), ...failing, answer(), set('Failed', { answer: 'failed' })],
    wires: [
      ...chain('Start', 'Tier Router'),
      ...main('Tier Router', ...agents.map((name) => [name])),
      ...wires,
      ...agents.flatMap((name) => main(name, ['Answer'], ['Failed'])),
    ],
    pinData,
  });
}

function outputParser(): WorkflowFixture['workflow'] {
  return byTier({
    name: 'Output parser',
    models: first(2),
    version: '3',
    parameters: () => ({ ...prompts(CUSTOMER, 'You are a clerk.'), hasOutputParser: true }),
    parts: [
      node('Parser', 'ai.outputParserStructured@1.3', {
        schemaType: 'manual',
        inputSchema: JSON.stringify({
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
        }),
      }),
    ],
    wires: (agents) => attach('Parser', 'ai_outputParser', agents),
    behind: [answer('Answer', '={{ $json.output.city }}')],
  });
}

/** Names in other scripts, with quotes and with what means something in an expression. */
function unicodeNames(): WorkflowFixture['workflow'] {
  const names = ['Агент «нано»', "L'agent d'été", '代理 "專家" {{ 1 }}'];
  const renamed = new Map(first(3).map(({ tier }, index) => [`AI Agent ${tier}`, names[index] ?? '']));
  const name = (given: string): string => renamed.get(given) ?? given;
  const made = branches(first(3), '3.1', () => prompts(CUSTOMER, 'Ты — продавец. 🚲'));
  const { part, pinData } = start(['nano', 'small', 'optima']);
  return workflow('Ünïcode — 工作流程 🚲', {
    parts: [
      part,
      tierSwitch('3.4', ['nano', 'small', 'optima'], 'Маршрут'),
      ...made.parts.map((one) => ({ ...one, name: name(one.name) })),
      answer(),
      set('Ответ', { n: '={{ $json.n }}', answer: '=Ответ: {{ $json.answer }}' }),
    ],
    wires: [
      ...chain('Start', 'Маршрут'),
      ...main('Маршрут', ...names.map((one) => [one])),
      ...made.wires.map((wire) => ({ ...wire, from: name(wire.from), to: name(wire.to) })),
      ...names.flatMap((one) => chain(one, 'Answer')),
      ...chain('Answer', 'Ответ'),
    ],
    pinData,
  });
}

/** Other nodes name the agent; there are notes, pins, a sticky note and settings of a node. */
function namedInExpressions(): WorkflowFixture['workflow'] {
  const { part, pinData } = start(['nano', 'small']);
  const settings = { notes: 'Asked by the shop', notesInFlow: true, retryOnFail: true, maxTries: 3 };
  const byName = {
    n: "={{ $('Start').item.json.n }}",
    dollar: "={{ $('AI Agent').item.json.output }}",
    node: '={{ $node["AI Agent"].json.output }}',
    text: '=Answer: {{ $("AI Agent").item.json["output"] }}',
  };
  return workflow('Named in expressions', {
    parts: [
      part,
      { ...agent('AI Agent', '3.1', prompts(CUSTOMER, 'You are a clerk.')), ...settings },
      openRouter('Model', 'openai/gpt-4o-mini', { maxTokens: 2000, temperature: 0.5 }),
      answer('Short', '={{ $json.output.slice(0, 10) }}'),
      set('By name', byName),
      node('Remark', 'base.stickyNote@1', { content: '## The agent\nIt answers.', height: 200, width: 300 }),
      { ...node('Unused', 'base.noOp@1'), disabled: true, notes: 'Kept for later' },
    ],
    wires: [...chain('Start', 'AI Agent', 'Short', 'By name'), ...attach('Model', 'ai_languageModel', ['AI Agent'])],
    pinData: { ...pinData, Short: [{ json: { n: 1, answer: 'Pinned' } }] },
    tags: [{ id: 'tag-1', name: 'shop' }],
    meta: { templateCredsSetupCompleted: true },
  });
}

/** A node asks which of the branches has run. */
function askedForRuns(): WorkflowFixture['workflow'] {
  return byTier({
    name: 'Asked for runs',
    models: first(2),
    version: '3',
    behind: [answer('Answer', "={{ $('AI Agent nano').isExecuted ? 'nano was asked' : $json.output }}")],
  });
}
