import * as z from 'zod/v4';

import { MOST_ITERATIONS, TASK_OPTIONS } from '../contracts/task-options';
import { isJsonObject, type JsonObject, prototypeKeyIn } from '../util/json';
import { strictObject } from '../util/known-keys';

const PATH = /^(?:context|meta)(?:\.[A-Za-z0-9_-]+)+$/;
const MAX_RULES = 50;
const MAX_SUB_AGENTS = 50;

const { max_cost_usd, max_total_tokens, max_tool_calls, max_calls_per_tool } = TASK_OPTIONS;

export const agentNameField = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,50}$/, 'must be letters, digits, _ and -, at most 50 of them');
/** Begins the name of a tool that asks an agent: `ask_billing`. */
export const ASK = 'ask';
const object = z.custom<JsonObject>(isJsonObject, 'must be a JSON object');
const tier = z.string().regex(/^\S{1,20}$/, 'must be the code of a tier');
const model = z.string().regex(/^\S{1,100}$/, 'must be the id of a model, without spaces');
const names = z.array(z.string().min(1).max(200)).max(500);

// A number beyond 2^53 is not what was written.
const value = z.union([z.string(), z.boolean(), z.number().refine((n) => Math.abs(n) <= Number.MAX_SAFE_INTEGER)]);
const when = z
  .custom<Record<string, string | number | boolean>>(
    (paths) => prototypeKeyIn(paths) === undefined,
    'has a name that nothing can have',
  )
  .pipe(z.record(z.string(), value))
  .refine(
    (paths) => Object.keys(paths).every((path) => PATH.test(path)),
    'must name values of context or meta, such as "context.plan"',
  )
  .refine((paths) => Object.keys(paths).length > 0, 'must not be empty');
const modelRule = strictObject({ when, model: model.optional(), tier: tier.optional() }).refine(
  (rule) => (rule.model === undefined) !== (rule.tier === undefined),
  'needs a model or a tier, one of them',
);

/** The fields of an agent, as a row, a program and administration give them. */
export const agentShape = {
  name: agentNameField,
  description: z.string().max(1000).optional(),
  systemPrompt: z.string().max(200_000).optional(),
  tier: tier.optional(),
  model: model.optional(),
  modelRules: z.array(modelRule).max(MAX_RULES).optional(),
  temperature: z.number().min(0).max(2).optional(),
  maxIterations: z.int().min(1).max(MOST_ITERATIONS).optional(),
  tools: names.optional(),
  toolPermissions: object.optional(),
  skills: z.array(z.string().normalize().min(1).max(200)).max(500).optional(),
  subAgents: z.array(agentNameField).max(MAX_SUB_AGENTS).optional(),
  outputSchema: object.optional(),
  limits: strictObject({ max_cost_usd, max_total_tokens, max_tool_calls, max_calls_per_tool }).optional(),
};

export const ONE_MODEL = 'has a tier and a model: only one of them can be';

/** An agent as a program brings it, or a row without its nulls. */
export const agentSchema = strictObject(agentShape).refine(
  (agent) => agent.tier === undefined || agent.model === undefined,
  ONE_MODEL,
);
