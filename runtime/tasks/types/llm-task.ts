import * as z from 'zod/v4';

import type { QueueTask, TaskAnswer } from '../../contracts/queue';
import type { AgentResult } from '../../contracts/result';
import { optional } from '../../contracts/task-options';
import { describeError, RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { type JsonObject, type JsonValue, MAX_JSON_CHARS } from '../../util/json';
import { findJson } from '../../util/text/find-json';
import { readTask, type ReadyTask } from '../read-task';
import { toAnswer } from './ai-agent';
import { readConfig } from './read-config';
import type { DoTask, TaskPorts } from './task-handler';

const jsonList = optional(z.array(z.custom<JsonValue>((value) => value !== undefined)));

/** What extraction and generation read of `config`; limits and such go on to the agent as they are. */
const configSchema = z.object({
  model: optional(z.string()),
  message: optional(z.string()).transform((message) => message ?? ''),
  system_prompt: optional(z.string()),
  prompt: optional(z.string()),
  output_schema: optional(
    z.record(
      z.string(),
      z.custom<JsonValue>(() => true),
    ),
  ),
  examples: jsonList,
  negative_examples: jsonList,
  min_confidence: optional(z.number().min(0).max(1)),
});

type LlmConfig = z.output<typeof configSchema>;
const OWN_KEYS = Object.keys(configSchema.shape);

/** How the two types differ. */
interface LlmType {
  readonly temperature: number;
  /** Stands before everything else where the task has no system prompt. */
  readonly role: string;
  /** Whether an answer without a schema is JSON too. */
  readonly isAlwaysJson: boolean;
}

/** `llm_extraction`: the result is the JSON that the model found in the message. */
export const LLM_EXTRACTION: LlmType = {
  temperature: 0.1,
  role: 'You extract data from a message. Use only what the message says.',
  isAlwaysJson: true,
};

/** `llm_generation`: the result is the model's text, or with an `output_schema` its JSON. */
export const LLM_GENERATION: LlmType = { temperature: 0.7, role: '', isAlwaysJson: false };

const DEFAULT_MAX_TOKENS = 500;
/** One to answer, one more for a reply that was empty. */
const MAX_ITERATIONS = 2;

/** Says what the model is to do, in the words of an agent without tools. Throws INPUT_INVALID. */
function toAgentTask(task: QueueTask, config: LlmConfig, type: LlmType): ReadyTask {
  const { model, message, prompt } = config;
  // What only this type reads means nothing to an agent.
  const shared = Object.entries(task.config).filter(([key]) => !OWN_KEYS.includes(key));
  const own: JsonObject = {
    ...Object.fromEntries(shared),
    message: prompt === undefined ? message : fillPrompt(prompt, message),
    system_prompt: systemPrompt(config, type),
    temperature: task.config.temperature ?? type.temperature,
    max_tokens: task.config.max_tokens ?? DEFAULT_MAX_TOKENS,
    max_iterations: MAX_ITERATIONS,
    on_max_iterations: 'error',
    tools: [],
    tool_choice: 'auto',
    approval: null,
    messages: null,
    ...NO_VARIABLES,
    ...(model === undefined ? {} : { model_override: model }),
  };
  const { task_id, trace_id, task_type, meta } = task;
  return readTask({ task_id, trace_id, task_type, meta, config: own });
}

/** Switches variables off, since the texts contain examples and messages of users. */
const NO_VARIABLES = { variables: null, system_prompt_is_template: false, message_is_template: null };

const PLACE = /\{\{\s*message\s*\}\}/g;

/** The message goes to its place in the prompt, or else after it. What stands in the message is never read again. */
function fillPrompt(prompt: string, message: string): string {
  const pieces = prompt.split(PLACE);
  if (pieces.length === 1) return [prompt, message].filter((part) => part !== '').join('\n\n');
  if (prompt.length + (pieces.length - 1) * message.length <= MAX_JSON_CHARS) return pieces.join(message);
  throw new RuntimeError('INPUT_INVALID', {
    issues: `config.prompt is longer than ${MAX_JSON_CHARS} characters with the message in its places`,
  });
}

function systemPrompt({ system_prompt, ...config }: LlmConfig, { role, isAlwaysJson }: LlmType): string {
  const { output_schema: schema, examples = [], negative_examples: negative = [] } = config;
  const isJson = isAlwaysJson || schema !== undefined;
  return [
    system_prompt ?? role,
    isJson ? 'Answer with JSON and nothing else.' : '',
    schema === undefined ? '' : `The JSON has this form:\n${JSON.stringify(schema)}`,
    examples.length === 0 ? '' : `Examples:\n${listed(examples)}`,
    negative.length === 0 ? '' : `Examples of what is wrong:\n${listed(negative)}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function listed(examples: readonly JsonValue[]): string {
  return examples.map((example) => `- ${typeof example === 'string' ? example : JSON.stringify(example)}`).join('\n');
}

type SchemaCheck = ReturnType<TaskPorts['compileSchema']>;

/** Undefined when the task has no schema to check against: a sample of the answer is shown to the model, no more. */
function schemaCheck({ output_schema: schema }: LlmConfig, { compileSchema }: TaskPorts): SchemaCheck | undefined {
  if (schema === undefined || !isJsonSchema(schema)) return undefined;
  try {
    return compileSchema(schema);
  } catch (error) {
    throw new RuntimeError('INPUT_INVALID', { issues: `config.output_schema is no JSON Schema (${errorText(error)})` });
  }
}

const TYPES: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
const KEYWORDS = ['$schema', '$ref', '$defs', 'anyOf', 'oneOf', 'allOf', 'enum', 'const'] as const;

/** Producers also write `{"value": "boolean"}`, which shows the form and is no schema. */
function isJsonSchema(schema: JsonObject): boolean {
  const { type, properties } = schema;
  if (Array.isArray(type) ? type.every((one) => TYPES.includes(one)) : TYPES.includes(type)) return true;
  return typeof properties === 'object' || KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword));
}

/** Throws what is wrong with the task, its schema included. Doing it runs an agent and reads what the model wrote. */
export function readLlmTask(task: QueueTask, type: LlmType, ports: TaskPorts): DoTask {
  const config = readConfig(configSchema, task.config);
  const agentTask = toAgentTask(task, config, type);
  const check = schemaCheck(config, ports);
  return async ({ run, tenantId, signal }) => {
    const outcome = await run(agentTask);
    const answer = toAnswer(outcome);
    const { text } = outcome.result;
    if (!type.isAlwaysJson && config.output_schema === undefined) return { ...answer, result: text };
    const found = await readJson(text, (value) => check?.(value, { tenantId, signal }));
    if ('reason' in found) return { ...answer, ...unusable(outcome, found.reason) };
    return { ...answer, result: found.value, ...confidence(found.value, config) };
  };
}

/** The first value that the schema allows. */
async function readJson(
  text: string,
  check: (value: JsonValue) => ReturnType<SchemaCheck>,
): Promise<{ readonly value: JsonValue } | { readonly reason: string }> {
  let reason: string | undefined;
  for (const value of findJson(text)) {
    const issues = await check(value);
    if (issues === undefined) return { value };
    reason ??= `it does not fit output_schema: ${issues}`;
  }
  return { reason: reason ?? 'it holds no JSON' };
}

/** The task is done all the same: it was answered and paid for, and asking again would bring the like. */
function unusable({ result, truncated }: AgentResult, reason: string): Partial<TaskAnswer> {
  const cut = truncated === true ? ', and was cut off at max_tokens' : '';
  const { code, message, hint } = describeError('MODEL_OUTPUT_INVALID', { reason: `${reason}${cut}` });
  return { result: { raw: result.text, parse_error: message }, error: message, error_code: code, hint };
}

/** Marked, not dropped: whoever asked decides what to do with a guess. */
function confidence(value: JsonValue, { min_confidence: least }: LlmConfig): { readonly low_confidence?: true } {
  if (least === undefined || typeof value !== 'object' || value === null || !('confidence' in value)) return {};
  const given = value.confidence;
  return typeof given === 'number' && given < least ? { low_confidence: true } : {};
}
