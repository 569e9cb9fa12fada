import * as z from 'zod/v4';

import { ExactInteger, parseExactly } from '../util/exact-integer';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { withoutExponent } from '../util/text/without-exponent';
import { issueOfVariables } from '../util/variables/store';
import type { Message } from './message';

/** Takes an empty list for an empty map too, as PHP writes it. */
export const orEmptyList = <T extends z.ZodType>(schema: T): z.ZodPipe<z.ZodTransform, T> =>
  z.preprocess((value) => (Array.isArray(value) && value.length === 0 ? {} : value), schema);
export const optional = <T extends z.ZodType>(
  schema: T,
): z.ZodPipe<
  z.ZodOptional<z.ZodNullable<T>>,
  z.ZodTransform<NonNullable<z.output<T>> | undefined, z.output<T> | null | undefined>
> => schema.nullish().transform((value) => value ?? undefined);

/** Text that may be left out; empty counts as left out, as an expression that found nothing gives it. */
const optionalText = z
  .string()
  .nullish()
  .transform((text) => text || undefined);

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

/** US dollars: decimal text, or a number. */
const decimal = z
  .union([z.string(), z.number().nonnegative()])
  .transform((value) => withoutExponent(String(value)))
  .pipe(z.string().regex(/^\d+(\.\d+)?$/, 'must be a decimal number'));

/** Defaults of settings that neither task nor tenant nor tier sets. */
export const TASK_DEFAULTS = {
  agent_tier: 'nano',
  mode: 'direct',
  max_iterations: 10,
  on_max_iterations: 'error',
  tool_execution: 'parallel',
  tool_choice: 'auto',
  timeout_seconds: 300,
  model_silence_seconds: 120,
  max_identical_calls: 3,
} as const;
export const MOST_ITERATIONS = 50;
const MAX_SESSION_ID_LENGTH = 200;

/** Variables by name, as plain JSON: a caller's dates become text. */
const variables = z.custom<JsonObject>(isJsonObject, 'must be an object').transform((given, context) => {
  const refuse = (message: string): never => {
    context.issues.push({ code: 'custom', message, input: given });
    return z.NEVER;
  };
  try {
    const plain = parseExactly(JSON.stringify(given)) as JsonObject;
    const issue = issueOfVariables(plain);
    return issue === undefined ? plain : refuse(issue);
  } catch {
    return refuse('must be JSON');
  }
});

/**
 * The one table of what a task's `config` may say. The options of `run` are read from it; the node's options, the type
 * `TaskConfigInput` and the table of docs/configuration.md are generated. Metadata: `guards` (a slip in it must not leave the task without it); the
 * default as `standard`, `inSettings` and `inTier` (where else it is set); `description` for the library's type and the node; for
 * the node `title` (an option there), `placeholder`, `initial`, `names`, `picker`, `least`, `most`, `precision`; for the command line `flag`.
 */
export const TASK_OPTIONS = {
  agent_tier: optionalText.meta({
    description: 'Chooses the model, and with it the price',
    guards: true,
    flag: 'tier',
    node: 'Tier',
    inSettings: '`default_tier`, at most `max_tier`',
    standard: TASK_DEFAULTS.agent_tier,
  }),
  agent: optionalText.meta({
    guards: true,
    description: 'The name of an agent, whose prompt, model, tools and limits hold',
    node: 'Agent',
  }),
  system_prompt: optional(z.string()).meta({
    node: 'System Prompt',
    description: 'Instructions: who the agent is and how it should answer',
  }),
  message: optional(z.string())
    .transform((text) => text ?? '')
    .meta({
      node: 'Message',
      description: 'The request to do or to answer. A task with an approval, or with messages, needs none',
    }),
  context: optional(z.unknown() as z.ZodType<JsonValue>).meta({
    any: true,
    node: 'Input: Context',
    description: 'Facts for the model, in a marked block before the message',
  }),
  // No guard: other programs send a key `sessionId` that nobody reads, and nothing but the conversation hangs on it.
  session_id: idText
    .nullish()
    .transform((id) => id || undefined)
    .pipe(z.string().max(MAX_SESSION_ID_LENGTH).optional())
    .meta({
      node: 'Session ID',
      flag: 'session',
      description:
        'The conversation that the message belongs to: the agent remembers what was said in it. Each tenant and each agent has its own',
    }),
  // No guard: many producers send a key `model` that nobody reads.
  mode: optional(z.enum(['direct', 'plan', 'auto'])).meta({
    node: 'Mode',
    standard: TASK_DEFAULTS.mode,
    description:
      'Whether the agent works step by step on a plan that it makes first, each step judged by a supervisor: `direct` never, `plan` for whatever needs a tool, `auto` for what takes several steps',
  }),
  planner_tier: optionalText.meta({
    guards: true,
    standard: 'that of the run',
    picker: 'tier',
    title: 'Plan: Planner Tier',
    description: 'The tier whose model makes plans. Choose a strong one where plans are poor',
  }),
  supervisor_tier: optionalText.meta({
    guards: true,
    standard: 'that of the run',
    picker: 'tier',
    title: 'Plan: Supervisor Tier',
    description: 'The tier whose model judges each step of a plan. A cheap one often does',
  }),
  step_tier: optionalText.meta({
    guards: true,
    standard: 'that of the run',
    picker: 'tier',
    title: 'Plan: Step Tier',
    description: 'The tier whose model works on the steps of a plan; agents that are asked have their own',
  }),
  // No guard: only the conversation hangs on it.
  messages: optional(z.array(z.record(z.string(), z.unknown())))
    // tasks/read-task.ts makes messages of them.
    .transform((list) => list as readonly unknown[] as readonly Message[] | undefined)
    .meta({
      any: true,
      title: 'Input: Messages',
      initial: '[]',
      placeholder: '[{ "role": "user", "content": "Hello" }]',
      description:
        'A conversation that the client has kept, oldest message first. Set this where the app sends it along; with an empty message its last one is the request.',
    }),
  variables: optional(orEmptyList(variables)).meta({
    title: 'Input: Variables',
    placeholder: '{ "customer": { "name": "Ann" } }',
    description:
      'Values for {{customer.name}} in prompts, skills and arguments of tools. Set this when one text serves many cases; it is no place for secrets.',
  }),
  system_prompt_is_template: optional(z.boolean()).meta({
    node: 'off for an expression',
    standard: 'on',
    description: 'Whether variables are filled into `system_prompt`; those of agents and skills always are',
  }),
  message_is_template: optional(z.boolean()).meta({
    standard: 'off',
    title: 'Input: Fill Variables in Message',
    initial: true,
    description:
      'Whether variables are filled into the message too. Turn it on only for messages of your own: what a user writes must not be a template.',
  }),
  model_override: optionalText.meta({
    guards: true,
    inTier: '`model_id`',
    picker: 'model',
    title: 'Model: Override',
    description: 'Another model than the one of the tier, within what the tenant may use',
  }),
  temperature: optional(z.number().min(0).max(2)).meta({
    inTier: '`temperature`',
    standard: 'left to the model',
    title: 'Model: Temperature',
    precision: 2,
    initial: 0.7,
    description:
      'How freely the model answers. Lower it for answers that must be the same each time; without it the tier decides.',
  }),
  max_tokens: optional(z.int().min(1)).meta({
    guards: true,
    inTier: '`max_tokens`',
    standard: 'left to the model',
    title: 'Model: Max Tokens',
    initial: 1000,
    description:
      'How many tokens one reply of the model may have. Raise it when answers are cut off; without it the tier decides.',
  }),
  model_silence_seconds: optional(z.number().min(0.001).max(86_400)).meta({
    inSettings: '`model_silence_seconds`',
    inTier: '`model_silence_seconds`',
    standard: TASK_DEFAULTS.model_silence_seconds,
    title: 'Model: Silence Seconds',
    least: 1,
    initial: TASK_DEFAULTS.model_silence_seconds,
    description:
      'How long the model may send nothing, before its reply and within it. Raise it for models that think long; without it tenant and tier decide.',
  }),
  max_iterations: optional(z.int().min(1)).meta({
    guards: true,
    inSettings: '`max_iterations`, also the ceiling',
    standard: `${TASK_DEFAULTS.max_iterations}, at most ${MOST_ITERATIONS}`,
    title: 'Limit: Iterations',
    most: MOST_ITERATIONS,
    initial: TASK_DEFAULTS.max_iterations,
    description:
      'How many model calls the agent may make. Raise it for tasks of many steps; a limit in the settings of the tenant wins.',
  }),
  on_max_iterations: optional(z.enum(['error', 'partial', 'finalAnswer'])).meta({
    standard: TASK_DEFAULTS.on_max_iterations,
    title: 'Limit: When Iterations Are Used Up',
    names: {
      finalAnswer: ['Ask for a Final Answer', 'One more model call, without tools'],
      error: 'Fail',
      partial: 'Return What There Is',
    },
    initial: TASK_DEFAULTS.on_max_iterations,
    description:
      'What to do when the agent has used all its iterations without an answer. Ask for one where somebody waits for it.',
  }),
  timeout_seconds: optional(z.number().positive().max(86_400)).meta({
    guards: true,
    standard: TASK_DEFAULTS.timeout_seconds,
    title: 'Limit: Timeout Seconds',
    least: 1,
    initial: TASK_DEFAULTS.timeout_seconds,
    description: 'When to stop the whole run. Lower it where somebody waits for the answer.',
  }),
  max_cost_usd: optional(decimal).meta({
    guards: true,
    standard: 'no limit',
    title: 'Limit: Cost (USD)',
    precision: 6,
    initial: 1,
    description:
      'What a run may cost. Once it has, no further model call is made. Set this when one run must not eat up the budget of the tenant.',
  }),
  max_total_tokens: optional(z.int().min(0)).meta({
    guards: true,
    standard: 'no limit',
    title: 'Limit: Total Tokens',
    initial: 100_000,
    description:
      'How many tokens a run may use. Once it has, no further model call is made. Set this for models that have no price.',
  }),
  max_tool_calls: optional(z.int().min(0)).meta({
    guards: true,
    standard: 'no limit',
    title: 'Limit: Tool Calls',
    initial: 20,
    description: 'How many tool calls a run may make. Set this when tools are slow or cost money.',
  }),
  max_calls_per_tool: optional(z.int().min(0)).meta({
    guards: true,
    standard: 'no limit',
    title: 'Limit: Calls per Tool',
    initial: 3,
    description: 'How often one tool may be called in a run. Lower it for tools that cost money or send messages.',
  }),
  max_identical_calls: optional(z.int().min(2)).meta({
    guards: true,
    standard: TASK_DEFAULTS.max_identical_calls,
    title: 'Limit: Identical Calls',
    initial: TASK_DEFAULTS.max_identical_calls,
    description:
      'Stop a tool from being called again after this many identical calls with identical results. Raise it for tools that are asked until something is ready.',
  }),
  tools: optional(z.array(z.string())).meta({
    guards: true,
    standard: 'all of the tenant; an empty list means none',
    picker: 'tenantTool',
    title: 'Tools: Offer Only',
    description: 'Only these tools of the tenant; an empty list means none. Set this when the task needs few of them',
  }),
  disabled_tools: optional(z.array(z.string())).meta({
    guards: true,
    inSettings: '`tool_config`',
    inTier: '`tool_config`',
    standard: 'none',
    picker: 'tenantTool',
    title: 'Tools: Block',
    description: 'Never these tools, whatever else allows them. Set this where a tool would be dangerous',
  }),
  skills: optional(z.array(z.string().normalize()).max(500)).meta({
    guards: true,
    standard: 'those of the agent',
    picker: 'skill',
    title: 'Tools: Skills',
    description:
      'Skills that the model may load, from those of the agent; an asterisk means all. Set this when the task needs its own instructions',
  }),
  tool_permissions: optional(orEmptyList(z.custom<JsonObject>(isJsonObject, 'must be an object'))).meta({
    guards: true,
    inSettings: '`tool_config`',
    inTier: '`tool_config`',
    standard: 'none',
    title: 'Tools: Permissions',
    placeholder: '{ "send_message": { "decision": "ask", "max_calls_per_run": 1 } }',
    description:
      'Rules for tools by name: limits, patterns, a person who is asked. They can only narrow what tenant and tier allow.',
  }),
  tool_choice: optional(z.enum(['auto', 'none', 'required'])).meta({
    guards: true,
    standard: TASK_DEFAULTS.tool_choice,
    title: 'Tools: Choice',
    names: {
      auto: ['Auto', 'The model decides'],
      none: ['None', 'The model must not call tools'],
      required: ['Required', 'The first reply must call a tool'],
    },
    initial: TASK_DEFAULTS.tool_choice,
    description: 'Whether the model may or must call tools. Require it when an answer without them would be a guess.',
  }),
  tool_execution: optional(z.enum(['parallel', 'sequential', 'single'])).meta({
    guards: true,
    standard: TASK_DEFAULTS.tool_execution,
    title: 'Tools: Execution',
    names: {
      single: ['One Tool per Step', 'Only the first call of a reply is made'],
      parallel: 'Parallel',
      sequential: ['Sequential', 'In the order in which the model asked'],
    },
    initial: TASK_DEFAULTS.tool_execution,
    description:
      'How the tool calls of one reply are made. Choose Sequential when one depends on what another has changed.',
  }),
  approval: optional(z.object({ run_id: z.uuid(), decision: z.enum(['approve', 'deny']) })).meta({
    guards: true,
    node: 'Tools: Approval',
    description: 'A decision on a tool call that an earlier run waits for',
  }),
  include_trace: optional(z.boolean()).meta({
    standard: 'off',
    title: 'Output: Include Trace',
    initial: true,
    description:
      'Whether to add a list of every model call and tool call with its time and cost. Turn it off when many items pass.',
  }),
  record_usage: optional(z.boolean()).meta({
    guards: true,
    standard: 'on',
    title: 'Output: Record Usage',
    initial: true,
    description: 'Whether to write a line to the bill of the tenant. Turn it off for tests of your own.',
  }),
};
