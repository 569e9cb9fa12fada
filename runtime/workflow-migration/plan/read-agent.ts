import type { JsonValue } from '../../util/json';
import type { WorkflowNode } from '../contract';
import type { Issue } from '../issue';
import { isExpression, parameterAt } from '../parameters';
import { showName } from '../show-name';
import { promptIssues, promptTypeOf } from './prompt-issues';

/** What an AI Agent node does, with the defaults of its version filled in. */
export interface AgentSettings {
  readonly message: JsonValue;
  readonly systemPrompt: JsonValue;
  readonly maxIterations: JsonValue;
  readonly onMaxIterations: 'error' | 'partial';
  readonly hasOutputParser: boolean;
  /** What a parser gives: its value alone in `output`, or as it is, in `output` or instead of the item. */
  readonly parsedAs: 'value' | 'output' | 'item';
  readonly needsFallback: boolean;
  readonly issues: readonly Issue[];
}

const CONVERSATIONAL_UP_TO = 1.5;
const WITHOUT_PROMPT_TYPE_UP_TO = 1.2;
/** The version from which on no system message means none. */
const NO_DEFAULT_SYSTEM_PROMPT_FROM = 1.9;
const FAILS_AT_MAX_ITERATIONS_FROM = 3;
const PARSED_AS_OUTPUT_UP_TO = 1.6;

const DEFAULT_SYSTEM_PROMPT = 'You are a helpful assistant';
const DEFAULT_ITERATIONS = 10;
const MAX_ITERATIONS = 50;

/** The node had no prompt type; the text was read from another field in each version. */
const FIRST_PROMPTS: Readonly<Record<string, string>> = { '1': 'input', '1.1': 'chat_input', '1.2': 'chatInput' };

export function readAgent(agent: WorkflowNode): AgentSettings {
  const { parameters, typeVersion } = agent;
  const hasOutputParser = parameters.hasOutputParser;
  return {
    message: readMessage(agent),
    systemPrompt: readSystemPrompt(agent),
    maxIterations: parameterAt(parameters, 'options.maxIterations') ?? DEFAULT_ITERATIONS,
    onMaxIterations: typeVersion >= FAILS_AT_MAX_ITERATIONS_FROM ? 'error' : 'partial',
    // The first versions had no such switch: what was connected was used.
    hasOutputParser: typeVersion <= WITHOUT_PROMPT_TYPE_UP_TO ? hasOutputParser !== false : hasOutputParser === true,
    parsedAs: parsedAs(agent),
    needsFallback: parameters.needsFallback === true,
    issues: [...kindIssues(agent), ...promptIssues(agent), ...iterationIssues(agent), ...optionIssues(agent)],
  };
}

/** The agent's kind: `toolsAgent`, or what the old versions offered beside it. */
function agentKind({ parameters, typeVersion }: WorkflowNode): string {
  if (typeVersion >= 2) return 'toolsAgent';
  const { agent } = parameters;
  // n8n runs it with the code of the tools agent.
  if (agent === 'openAiFunctionsAgent') return 'toolsAgent';
  if (typeof agent === 'string' && agent !== '') return agent;
  return typeVersion <= CONVERSATIONAL_UP_TO ? 'conversationalAgent' : 'toolsAgent';
}

function parsedAs(agent: WorkflowNode): AgentSettings['parsedAs'] {
  if (agentKind(agent) === 'toolsAgent') return 'item';
  return agent.typeVersion <= PARSED_AS_OUTPUT_UP_TO ? 'output' : 'value';
}

function readMessage({ parameters, typeVersion }: WorkflowNode): JsonValue {
  if (typeVersion <= WITHOUT_PROMPT_TYPE_UP_TO) {
    return parameters.text ?? `={{ $json.${FIRST_PROMPTS[String(typeVersion)] ?? 'chatInput'} }}`;
  }
  const type = promptTypeOf(parameters);
  if (type === 'define') return parameters.text ?? '';
  return type === 'guardrails' ? '={{ $json.guardrailsInput }}' : '={{ $json.chatInput }}';
}

function readSystemPrompt({ parameters, typeVersion }: WorkflowNode): JsonValue {
  const given = parameterAt(parameters, 'options.systemMessage');
  return given ?? (typeVersion < NO_DEFAULT_SYSTEM_PROMPT_FROM ? DEFAULT_SYSTEM_PROMPT : '');
}

function kindIssues(agent: WorkflowNode): readonly Issue[] {
  const kind = agentKind(agent);
  const node = agent.name;
  if (kind === 'toolsAgent') return [];
  if (kind === 'sqlAgent') {
    const text =
      'It is a SQL Agent, which reads a database of its own. Give a Tools Agent a tool for that database first.';
    return [{ node, reason: 'sql-agent', text }];
  }
  const remembers =
    kind === 'conversationalAgent'
      ? ' Without a memory it also shows the model the items before, which the new node does not.'
      : '';
  const text = `It is no Tools Agent but the kind ${showName(kind)}, which wraps prompts of its own around the messages; the new node sends them as they are.${remembers}`;
  return [{ node, reason: 'agent-kind', text, allowance: 'agent-kind' }];
}

function iterationIssues({ name: node, parameters }: WorkflowNode): readonly Issue[] {
  const iterations = parameterAt(parameters, 'options.maxIterations');
  if (iterations === undefined || isExpression(iterations)) return [];
  if (typeof iterations === 'number' && Number.isInteger(iterations) && iterations >= 1) {
    if (iterations <= MAX_ITERATIONS) return [];
    const text = `It may take ${iterations} iterations; the new node takes at most ${MAX_ITERATIONS}. Lower Max Iterations first.`;
    return [{ node, reason: 'max-iterations', text }];
  }
  return [
    { node, reason: 'max-iterations', text: 'Its Max Iterations is no whole number from 1 on. Correct it first.' },
  ];
}

/** What is sent or done otherwise when one of these has another value than this; the others are about looks only. */
const OPTIONS_WITHOUT_LIKE: Readonly<Record<string, { readonly plain: readonly JsonValue[]; readonly text: string }>> =
  {
    returnIntermediateSteps: {
      plain: [false],
      text: 'Return Intermediate Steps is dropped: the steps stand in result.tool_calls and in trace instead of intermediateSteps.',
    },
    passthroughBinaryImages: { plain: [false], text: 'Images of the items are no longer shown to the model.' },
    passthroughBinaryPdfs: { plain: [false], text: 'PDF files of the items are no longer shown to the model.' },
    tracingMetadata: { plain: [{}], text: 'Tracing Metadata is dropped.' },
    autoSaveHighlightedData: { plain: [false], text: 'Highlighted data is no longer saved.' },
    maxTokensFromMemory: { plain: [0], text: 'Max Tokens To Read From Memory is dropped: all of the memory is read.' },
    forceToolCallOnFirstIteration: {
      plain: [false],
      text: 'Force Tool Call on First Iteration is dropped: the model decides.',
    },
    humanMessage: { plain: [], text: 'Human Message is dropped.' },
    humanMessageTemplate: { plain: [], text: 'Human Message Template is dropped.' },
    humanMessagePrefix: { plain: [], text: 'Human Message Prefix is dropped.' },
    prefix: { plain: [], text: 'Prefix Message is dropped.' },
    prefixChat: { plain: [], text: 'Prefix Message is dropped.' },
    suffix: { plain: [], text: 'Suffix Message is dropped.' },
    suffixChat: { plain: [], text: 'Suffix Message is dropped.' },
    batching: {
      plain: [{}],
      text: 'Batch Processing is dropped: the items are run one after the other, without a pause.',
    },
  };

function optionIssues({ name: node, parameters }: WorkflowNode): readonly Issue[] {
  return Object.entries(OPTIONS_WITHOUT_LIKE).flatMap(([option, { plain, text }]): Issue[] => {
    const value = parameterAt(parameters, `options.${option}`);
    if (value === undefined || plain.some((same) => JSON.stringify(same) === JSON.stringify(value))) return [];
    return [{ node, reason: 'agent-options', text, allowance: 'dropped-options' }];
  });
}
