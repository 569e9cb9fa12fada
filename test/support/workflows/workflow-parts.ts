import type { JsonObject, JsonValue } from '../../../runtime/util/json';
import type { MigrationOptions, Workflow } from '../../../runtime/workflow-migration/contract';
import { attach, node, type Part, type Wire } from './workflow-builder';

/** A workflow as somebody exported it, and what its migration needs. */
export interface WorkflowFixture {
  readonly workflow: Workflow;
  /** Changes that have to be accepted for it. */
  readonly allow?: MigrationOptions['allow'];
  readonly tools?: MigrationOptions['tools'];
  /** True for one that has to be left as it is. */
  readonly isLeft?: boolean;
  /** What else the migration is asked for. */
  readonly asked?: Pick<MigrationOptions, 'tierMap' | 'dropRouter' | 'each' | 'v3'>;
}

/** What a branch is, in a word, and what it runs on. */
export interface BranchModel {
  readonly tier: string;
  readonly model: string;
  readonly options: JsonObject;
}

/** The five branches, exactly as the tiers of the same names are. */
export const FIVE: readonly BranchModel[] = [
  { tier: 'nano', model: 'qwen/qwen3-4b:free', options: { maxTokens: 500, temperature: 0.1 } },
  { tier: 'small', model: 'qwen/qwen3-8b', options: { maxTokens: 800, temperature: 0.2 } },
  { tier: 'optima', model: 'anthropic/claude-3-haiku', options: { maxTokens: 1000, temperature: 0.3 } },
  { tier: 'pro', model: 'openai/gpt-4o-mini', options: { maxTokens: 2000, temperature: 0.5 } },
  { tier: 'expert', model: 'anthropic/claude-3-5-sonnet', options: { maxTokens: 4000, temperature: 0.7 } },
];

/** The first branches of the five. */
export const first = (count: number): readonly BranchModel[] => FIVE.slice(0, count);

export const OPENROUTER = { openRouterApi: { id: 'credential-openrouter', name: 'OpenRouter account' } };
export const OPENAI = { openAiApi: { id: 'credential-openai', name: 'OpenAI account' } };

/** One item for each of these tiers, with a message of its own. */
export function itemsFor(tiers: readonly string[]): { readonly [field: string]: JsonValue }[] {
  return tiers.map((tier, index) => ({
    n: index + 1,
    tier,
    level: FIVE.findIndex((branch) => branch.tier === tier),
    vip: tier === 'expert',
    shop: { name: `Shop "${tier}" \`${index}\` $\{x}` },
    chatInput: `Question ${index + 1} of ${tier}`,
    input: `Question ${index + 1} of ${tier}`,
    chat_input: `Question ${index + 1} of ${tier}`,
    message: `Message ${index + 1} of ${tier}`,
    sessionId: `session-${tier}`,
  }));
}

/** The trigger with its pinned items. */
export function start(tiers: readonly string[]): { part: Part; pinData: JsonObject } {
  return {
    part: node('Start', 'base.manualTrigger@1'),
    pinData: { Start: itemsFor(tiers).map((json) => ({ json })) },
  };
}

/** Keeps the number of the item and the answer. */
export function answer(name = 'Answer', text = '={{ $json.output }}'): Part {
  return set(name, { n: "={{ $('Start').item.json.n }}", answer: text });
}

export function set(name: string, fields: Readonly<Record<string, string>>): Part {
  const assignments = Object.entries(fields).map(([field, value]) => ({
    id: `field-${field}`,
    name: field,
    value,
    type: field === 'n' ? 'number' : 'string',
  }));
  return node(name, 'base.set@3.4', { assignments: { assignments }, options: {} });
}

export function agent(name: string, version: string, parameters: JsonObject = {}): Part {
  return node(name, `ai.agent@${version}`, { options: {}, ...parameters });
}

/** User prompt and system prompt as parameters of an agent. */
export function prompts(text: string, systemMessage?: string, options: JsonObject = {}): JsonObject {
  return {
    promptType: 'define',
    text,
    options: { ...options, ...(systemMessage === undefined ? {} : { systemMessage }) },
  };
}

export function openRouter(name: string, model: string, options: JsonObject = {}): Part {
  return { ...node(name, 'ai.lmChatOpenRouter@1', { model, options }), credentials: OPENROUTER };
}

/** The agents `AI Agent <tier>`, each with its chat model. */
export function branches(
  models: readonly BranchModel[],
  version: string,
  parameters: (branch: BranchModel) => JsonObject = () => ({}),
): { readonly parts: readonly Part[]; readonly wires: readonly Wire[]; readonly agents: readonly string[] } {
  const agents = models.map(({ tier }) => `AI Agent ${tier}`);
  return {
    agents,
    parts: models.flatMap((branch, index) => [
      agent(agents[index] ?? '', version, parameters(branch)),
      openRouter(`Model ${branch.tier}`, branch.model, branch.options),
    ]),
    wires: models.flatMap(({ tier }, index) => attach(`Model ${tier}`, 'ai_languageModel', [agents[index] ?? ''])),
  };
}

export interface Condition {
  readonly left: string;
  readonly right: JsonValue;
  readonly type?: string;
  readonly operation?: string;
}

/** Conditions of Switch 3, IF 2 and Filter 2. */
export function conditions(list: readonly Condition[], combinator = 'and'): JsonObject {
  return {
    options: { caseSensitive: true, leftValue: '', typeValidation: 'strict', version: 2 },
    conditions: list.map(({ left, right, type = 'string', operation = 'equals' }, index) => ({
      id: `condition-${index}`,
      leftValue: left,
      rightValue: right,
      operator: { type, operation, ...(operation === 'true' ? { singleValue: true } : {}) },
    })),
    combinator,
  };
}

export const tierIs = (tier: string, left = '={{ $json.tier }}'): Condition => ({ left, right: tier });

export interface Rule {
  readonly key: string;
  readonly conditions: JsonObject;
}

/** Switch 3 and later: the type is `base.switch@3.4` or the like. */
export function switch3(name: string, type: string, rules: readonly Rule[]): Part {
  const values = rules.map(({ key, conditions: tested }) => ({
    conditions: tested,
    renameOutput: true,
    outputKey: key,
  }));
  return node(name, type, { rules: { values }, options: {} });
}

/** The router by tier as each version of Switch writes it. */
export function tierSwitch(version: string, tiers: readonly string[], name = 'Tier Router'): Part {
  const rule = (tier: string): JsonObject => ({ operation: 'equal', value2: tier });
  const tested = { dataType: 'string', value1: '={{ $json.tier }}' };
  if (version === '1') {
    const rules = tiers.map((tier, output) => ({ ...rule(tier), output }));
    return node(name, 'base.switch@1', { ...tested, rules: { rules } });
  }
  if (version === '2') {
    const rules = tiers.map((tier) => ({ ...rule(tier), outputKey: tier }));
    return node(name, 'base.switch@2', { ...tested, rules: { rules } });
  }
  return switch3(
    name,
    `base.switch@${version}`,
    tiers.map((tier) => ({ key: tier, conditions: conditions([tierIs(tier)]) })),
  );
}

/** The router by number as each version of Switch writes it. */
export function expressionSwitch(version: string, outputs: number, name = 'Tier Router'): Part {
  const parameters: JsonObject = { mode: 'expression', output: '={{ $json.level }}' };
  if (version === '1') return node(name, 'base.switch@1', parameters);
  const field = version === '2' ? 'outputsAmount' : 'numberOutputs';
  return node(name, `base.switch@${version}`, { ...parameters, [field]: outputs });
}

/** A tool that asks an HTTP server; the model gives the customer. */
export function httpTool(name: string, description = 'Finds the orders of a customer'): Part {
  return node(name, 'base.httpRequestTool@4.2', {
    toolDescription: description,
    url: 'http://tools.example.com/orders',
    sendQuery: true,
    queryParameters: {
      parameters: [{ name: 'customer', value: "={{ $fromAI('customer', 'Name of the customer', 'string') }}" }],
    },
    options: {},
  });
}

export function bufferMemory(name: string, version: string, parameters: JsonObject = {}): Part {
  return node(name, `ai.memoryBufferWindow@${version}`, parameters);
}

/** An MCP server of which one tool is taken. */
export function shopServer(): Part {
  return node('Shop Server', 'ai.mcpClientTool@1.2', {
    endpointUrl: 'http://mcp.example.com/mcp',
    serverTransport: 'httpStreamable',
    include: 'selected',
    includeTools: ['echo'],
    options: {},
  });
}

/** A tool that calls another workflow. */
export function colleague(): Part {
  return node('Call Colleague', 'ai.toolWorkflow@2.2', {
    description: 'Asks a colleague',
    workflowId: { __rl: true, mode: 'list', value: 'workflow-colleague', cachedResultName: 'Colleague' },
    workflowInputs: {
      mappingMode: 'defineBelow',
      value: { question: "={{ $fromAI('question', 'What to ask', 'string') }}" },
      matchingColumns: [],
      schema: [
        {
          id: 'question',
          displayName: 'question',
          required: false,
          defaultMatch: false,
          display: true,
          type: 'string',
        },
      ],
    },
  });
}
