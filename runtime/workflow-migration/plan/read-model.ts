import type { JsonObject, JsonValue } from '../../util/json';
import type { CredentialRef, WorkflowNode } from '../contract';
import { isExpression, kindOf, parameterAt } from '../parameters';

export type Provider = 'openRouter' | 'openAiCompatible';

/** A chat model that a tier can stand for. */
export interface TierModel {
  readonly provider: Provider;
  readonly credentialType: 'openRouterApi' | 'openAiApi';
  readonly credential?: CredentialRef;
  readonly modelId: string;
  /** Undefined where none is sent. */
  readonly temperature?: JsonValue;
  readonly maxTokens?: JsonValue;
  /** Options that neither a tier nor the new node has. */
  readonly dropped: readonly string[];
}

/** Why only the model node itself can do it; it has to stay connected then. */
export interface OwnModel {
  readonly reason: string;
  readonly text: string;
}

const RESPONSES_API_FROM = 1.3;
const RESOURCE_LOCATOR_FROM = 1.2;
const MAX_MODEL_ID = 100;
const NO_LIMIT = -1;

/** Options whose defaults change nothing; time-outs and repetitions are the new node's own business. */
const PLAIN_OPTIONS: Readonly<Record<string, readonly JsonValue[]>> = {
  topP: [1],
  frequencyPenalty: [0],
  presencePenalty: [0],
  responseFormat: ['text'],
  providerRouting: [{}],
  timeout: [360_000, 60_000],
  maxRetries: [2],
  baseURL: [''],
  extraBody: ['', '{}', {}],
};
const CARRIED: ReadonlySet<string> = new Set(['temperature', 'maxTokens']);

/** What the node sends to which model. */
export function readModel(node: WorkflowNode): TierModel | OwnModel {
  const kind = kindOf(node);
  if (kind === 'lmChatOpenRouter') return readTierModel(node, 'openai/gpt-4.1-mini');
  if (kind !== 'lmChatOpenAi') {
    return {
      reason: 'several-providers',
      text: 'A tier can be a model of OpenRouter or of an OpenAI-compatible server only.',
    };
  }
  if (usesResponsesApi(node)) {
    return {
      reason: 'responses-api',
      text: 'It uses the Responses API. Switch off Use Responses API in the model to make tiers of it.',
    };
  }
  if (hasOwnServer(node)) {
    return {
      reason: 'base-url',
      text: 'It names a server of its own in Base URL. Put that address into the credential to make tiers of it.',
    };
  }
  return readTierModel(node, 'gpt-5-mini');
}

export function isTierModel(model: TierModel | OwnModel): model is TierModel {
  return 'modelId' in model;
}

function usesResponsesApi({ typeVersion, parameters }: WorkflowNode): boolean {
  return typeVersion >= RESPONSES_API_FROM && parameters.responsesApiEnabled !== false;
}

function hasOwnServer({ parameters }: WorkflowNode): boolean {
  const baseUrl = parameterAt(parameters, 'options.baseURL');
  return baseUrl !== undefined && baseUrl !== '';
}

function readTierModel(node: WorkflowNode, defaultId: string): TierModel | OwnModel {
  const isOpenRouter = kindOf(node) === 'lmChatOpenRouter';
  const modelId = readModelId(node) ?? defaultId;
  if (modelId === '') return NOT_SELECTED;
  if (!isModelId(modelId)) return NO_MODEL_ID;
  const credentialType = isOpenRouter ? 'openRouterApi' : 'openAiApi';
  const options = optionsOf(node);
  return {
    provider: isOpenRouter ? 'openRouter' : 'openAiCompatible',
    credentialType,
    credential: node.credentials?.[credentialType],
    modelId,
    temperature: options.temperature,
    maxTokens: options.maxTokens === NO_LIMIT ? undefined : options.maxTokens,
    dropped: Object.keys(options).filter((name) => !CARRIED.has(name) && !isPlain(name, options[name])),
  };
}

const NOT_SELECTED: OwnModel = { reason: 'no-model', text: 'No model is selected in it. Select one first.' };
const NO_MODEL_ID: OwnModel = {
  reason: 'model-expression',
  text: 'Its model is an expression, or no name that a tier could have.',
};

function isModelId(value: JsonValue): value is string {
  return typeof value === 'string' && !isExpression(value) && value.trim() !== '' && value.length <= MAX_MODEL_ID;
}

function readModelId({ parameters, typeVersion }: WorkflowNode): JsonValue | undefined {
  const { model } = parameters;
  // Workflows made by hand have the plain id in newer versions too.
  return typeVersion >= RESOURCE_LOCATOR_FROM ? (parameterAt(parameters, 'model.value') ?? model) : model;
}

function optionsOf({ parameters }: WorkflowNode): JsonObject {
  const { options } = parameters;
  return typeof options === 'object' && options !== null && !Array.isArray(options) ? (options as JsonObject) : {};
}

function isPlain(name: string, value: JsonValue | undefined): boolean {
  return PLAIN_OPTIONS[name]?.some((plain) => JSON.stringify(plain) === JSON.stringify(value)) === true;
}
