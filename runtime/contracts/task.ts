import * as z from 'zod/v4';

import { idText, optional, orEmptyList, TASK_OPTIONS } from './task-options';

/** Longest ids that the ledger's columns hold. */
export const MAX_TASK_ID_LENGTH = 200;
export const MAX_TRACE_ID_LENGTH = 100;

/** The types of task that a model does, each with a line of its own name in the bill. */
const MODEL_TASK_TYPES = ['ai_agent', 'llm_extraction', 'llm_generation'] as const;

const configFields = z.object(TASK_OPTIONS);
type ConfigKey = keyof typeof TASK_OPTIONS;

/** Every key that is read in a task's config. */
export const CONFIG_KEYS: readonly string[] = Object.keys(configFields.shape);

/** Those of them that guard tools, limits and money: a slip in one of these must not leave the task without it. */
export const GUARDING_CONFIG_KEYS = Object.entries(TASK_OPTIONS).flatMap(([key, schema]) =>
  schema.meta()?.guards === true ? [key as ConfigKey] : [],
);

/** What the same rules are called in other places. */
export const FOREIGN_CONFIG_KEYS: Readonly<Record<string, ConfigKey>> = {
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

/** A task with an approval needs no message: the run that waited goes on with the one it had. A conversation ends with one. */
const configSchema = configFields.check(({ value, issues }) => {
  if (value.approval !== undefined || value.messages !== undefined || value.message.trim() !== '') return;
  issues.push({ code: 'custom', path: ['message'], message: 'must not be empty', input: value.message });
});

const metaSchema = z.object({
  tenant_id: idText,
  client_id: optional(idText),
  dialog_id: optional(idText),
  user_id: optional(idText),
  session_id: optional(idText),
});

/** Trusted facts of a call outside a task; the tenant is named apart from them. */
export const callMetaSchema = z.strictObject(metaSchema.omit({ tenant_id: true }).shape);

export type CallMeta = Partial<z.output<typeof callMetaSchema>>;

/** Text that may stand in a key or a column. */
export const plainText = z
  .string()
  .min(1)
  .regex(/^\P{Cc}*$/u, 'must have no control characters');

/** Work of another program that calls of tools and models belong to. */
export const callTaskSchema = z.object({
  /** Calls with the same one are on one line of the bill. Default: each call has its own. */
  id: plainText.max(160).optional(),
  /** Type of the line. */
  type: plainText.max(50),
});

export type CallTask = Readonly<z.output<typeof callTaskSchema>>;

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
/** How a task is done: by one loop, by a plan, or by a plan where the model finds that it needs one. */
export type RunMode = NonNullable<TaskConfig['mode']>;
