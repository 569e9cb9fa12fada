import * as z from 'zod/v4';

import { ExactInteger } from '../util/exact-integer';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { withoutExponent } from '../util/text/without-exponent';

/** Digits that a number of JavaScript holds of any decimal text. */
const SURE_DIGITS = 15;

function isExact(number: number): boolean {
  if (Number.isInteger(number)) return Number.isSafeInteger(number);
  return String(number).replace(/\D/g, '').length <= SURE_DIGITS;
}

/** An id. Integers beyond 2^53 are taken where their digits are there: two ids must not become one. */
export const idText = z
  .union([z.string(), z.number(), z.instanceof(ExactInteger)])
  .refine((id) => typeof id !== 'number' || isExact(id), 'is a number that has lost its last digits: give it as text')
  .transform(String)
  // The database takes neither NUL nor half a surrogate pair.
  .refine((id) => !id.includes('\0') && id.isWellFormed(), 'holds characters that an id cannot have');

/** Takes an empty list for an empty map too, as PHP writes it. */
export const orEmptyList = <T extends z.ZodType>(schema: T): z.ZodPipe<z.ZodTransform, T> =>
  z.preprocess((value) => (Array.isArray(value) && value.length === 0 ? {} : value), schema);
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

/** Text that may be left out; empty counts as left out, as an expression that found nothing gives it. */
const optionalText = z
  .string()
  .nullish()
  .transform((text) => text || undefined);

/** Longest ids that the ledger's columns hold. */
export const MAX_TASK_ID_LENGTH = 200;
export const MAX_TRACE_ID_LENGTH = 100;

/** The types of task that a model does, each with a line of its own name in the bill. */
const MODEL_TASK_TYPES = ['ai_agent', 'llm_extraction', 'llm_generation'] as const;

/** US dollars: decimal text, or a number. */
const decimal = z
  .union([z.string(), z.number().nonnegative()])
  .transform((value) => withoutExponent(String(value)))
  .pipe(z.string().regex(/^\d+(\.\d+)?$/, 'must be a decimal number'));

const configFields = z.object({
  agent_tier: optionalText,
  agent: optional(z.string()),
  system_prompt: optional(z.string()),
  message: optional(z.string()).transform((text) => text ?? ''),
  context: optional(z.unknown() as z.ZodType<JsonValue>),
  max_iterations: optional(z.int().min(1)),
  temperature: optional(z.number().min(0).max(2)),
  max_tokens: optional(z.int().min(1)),
  model_override: optionalText,
  model_silence_seconds: optional(z.number().min(0.001).max(86_400)),
  on_max_iterations: optional(z.enum(['error', 'partial', 'finalAnswer'])),
  tool_execution: optional(z.enum(['parallel', 'sequential', 'single'])),
  tool_choice: optional(z.enum(['auto', 'none', 'required'])),
  tools: optional(z.array(z.string())),
  disabled_tools: optional(z.array(z.string())),
  tool_permissions: optional(orEmptyList(z.custom<JsonObject>(isJsonObject, 'must be an object'))),
  max_tool_calls: optional(z.int().min(0)),
  max_calls_per_tool: optional(z.int().min(0)),
  max_identical_calls: optional(z.int().min(2)),
  max_cost_usd: optional(decimal),
  max_total_tokens: optional(z.int().min(0)),
  approval: optional(z.object({ run_id: z.uuid(), decision: z.enum(['approve', 'deny']) })),
  timeout_seconds: optional(z.number().positive().max(86_400)),
  include_trace: optional(z.boolean()),
  record_usage: optional(z.boolean()),
});

/** Every key that is read in a task's config. */
export const CONFIG_KEYS: readonly string[] = Object.keys(configFields.shape);

/** Those of them that guard tools, limits and money: a slip in one of these must not leave the task without it. */
export const GUARDING_CONFIG_KEYS = [
  'agent',
  'agent_tier',
  'approval',
  'disabled_tools',
  'max_calls_per_tool',
  'max_cost_usd',
  'max_identical_calls',
  'max_iterations',
  'max_tokens',
  'max_tool_calls',
  'max_total_tokens',
  'model_override',
  'record_usage',
  'timeout_seconds',
  'tool_choice',
  'tool_execution',
  'tool_permissions',
  'tools',
] as const satisfies readonly (keyof typeof configFields.shape)[];

/** What the same rules are called in other places. */
export const FOREIGN_CONFIG_KEYS: Readonly<Record<string, (typeof GUARDING_CONFIG_KEYS)[number]>> = {
  allowed_tools: 'tools',
  blocked_tools: 'disabled_tools',
  cost_limit_usd: 'max_cost_usd',
  denied_tools: 'disabled_tools',
  enabled_tools: 'tools',
  fixed_arguments: 'tool_permissions',
  limits: 'tool_permissions',
  permissions: 'tool_permissions',
  rate_limit: 'tool_permissions',
  timeout: 'timeout_seconds',
  tool_config: 'tool_permissions',
};

/** A task with an approval needs no message: the run that waited goes on with the one it had. */
const configSchema = configFields.check(({ value, issues }) => {
  if (value.approval !== undefined || value.message.trim() !== '') return;
  issues.push({ code: 'custom', path: ['message'], message: 'must not be empty', input: value.message });
});

const metaSchema = z.object({
  tenant_id: idText,
  client_id: optional(idText),
  dialog_id: optional(idText),
  user_id: optional(idText),
  session_id: optional(idText),
});

/** Trusted facts of a call outside a run; the tenant is named apart from them. */
export const callMetaSchema = z.strictObject(metaSchema.omit({ tenant_id: true }).shape);

export type CallMeta = Partial<z.output<typeof callMetaSchema>>;

/**
 * What comes from outside: a node item, a queue entry, a command line. Unknown keys are left out; read-task.ts tells of
 * them.
 */
export const agentTaskSchema = z.object({
  task_id: optional(idText.pipe(z.string().min(1).max(MAX_TASK_ID_LENGTH))),
  trace_id: optional(idText.pipe(z.string().max(MAX_TRACE_ID_LENGTH))),
  task_type: z.enum(MODEL_TASK_TYPES).default('ai_agent'),
  config: orEmptyList(configSchema),
  meta: orEmptyList(metaSchema),
  callback: optional(orEmptyList(z.record(z.string(), z.unknown()))),
});

export type AgentTask = z.output<typeof agentTaskSchema>;
export type TaskConfig = AgentTask['config'];
