import * as z from 'zod/v4';

import { agentNameField, agentShape, ASK, ONE_MODEL } from '../../agents/agent-schema';
import { RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { readToolRules } from '../../permissions/read-tool-rules';
import { type AgentDetails, readAgentRow } from '../../storage/sql/admin/manage-agents';
import { unknownSkills } from '../../storage/sql/admin/manage-skills';
import type { RowOwner } from '../../storage/sql/admin/scoped-rows';
import type { Query } from '../../storage/statement';
import { whyUnusable } from '../../tools/schemas/validate-input';
import { checkTenant } from '../check-tenant';
import type { AdminPorts } from '../operation';
import { unknownRow, type WriteMode, writeScopedRow } from '../scoped-row';
import { SKILLS } from '../skills/skill-rows';
import { checkTiers } from '../tenants/check-settings';
import { checkRules } from '../tools/check-rules';
import { AGENTS, checkSubAgents } from './check-sub-agents';

/** Description of the field `shared`. */
export const SHARED = 'Whether every tenant can use the agent, unless it has its own of this name';

export const nameField = agentNameField.meta({
  placeholder: 'support',
  description: 'How tasks name the agent: letters, digits, _ and -, at most 50',
});

const { name: _name, ...shape } = agentShape;

/** The input for a row. */
export const changeShape = {
  name: nameField,
  description: shape.description.unwrap().nullish().meta({
    rows: 2,
    placeholder: 'Answers questions about orders',
    description: 'What the agent is for',
  }),
  systemPrompt: shape.systemPrompt.unwrap().nullish().meta({
    rows: 6,
    placeholder: 'You answer customers of a shop.',
    description: 'Instructions of the agent, where the task has none of its own',
  }),
  tier: shape.tier.unwrap().nullish().meta({
    group: 'more',
    picker: 'tier',
    title: 'Tier',
    description: 'The tier of the agent, where the task names none',
  }),
  model: shape.model.unwrap().nullish().meta({
    group: 'more',
    placeholder: 'openai/gpt-4o-mini',
    description: 'A model to use instead of that of a tier, within what the tenant may use',
  }),
  modelRules: shape.modelRules.unwrap().nullish().meta({
    any: true,
    group: 'more',
    description:
      'Tier or model by what the task says, as JSON: a list of {"when": {"context.plan": "pro"}, "tier": "expert"}. The first rule that matches decides.',
  }),
  temperature: shape.temperature.unwrap().nullish().meta({
    group: 'more',
    initial: 0.5,
    precision: 2,
    description: 'How freely the model answers',
  }),
  maxIterations: shape.maxIterations.unwrap().nullish().meta({
    group: 'more',
    initial: 10,
    description: 'How many model calls the agent may make',
  }),
  tools: shape.tools.unwrap().nullish().meta({
    none: 'all',
    group: 'more',
    picker: 'tool',
    title: 'Tools',
    description: 'The tools that the agent may call. Without this field it may call all tools of the tenant.',
  }),
  toolPermissions: shape.toolPermissions.unwrap().nullish().meta({
    group: 'more',
    title: 'Tool Rules',
    description: 'Rules by the name of the tool; they can only narrow those of the tenant',
  }),
  skills: shape.skills.unwrap().nullish().meta({
    group: 'more',
    picker: 'skill',
    title: 'Skills',
    description: 'The skills that the agent may load; an asterisk means all of the tenant',
  }),
  subAgents: shape.subAgents.unwrap().nullish().meta({
    group: 'more',
    picker: 'agent',
    title: 'Sub-Agents',
    description: 'Other agents that the agent can ask; each of them is a tool for it',
  }),
  outputSchema: shape.outputSchema.unwrap().nullish().meta({
    group: 'more',
    description: 'JSON Schema of the answers',
  }),
  limits: shape.limits.unwrap().nullish().meta({
    group: 'more',
    description: 'Limits of a run: max_cost_usd, max_total_tokens, max_tool_calls, max_calls_per_tool',
  }),
  isActive: z.boolean().optional().meta({
    group: 'more',
    title: 'Active',
    initial: true,
    description: 'Whether tasks may name the agent',
  }),
};

type Change = z.output<z.ZodObject<typeof changeShape>> & { readonly tenantId?: string };

/** Writes a row: a new one, one that is there, or either. Rejects with AGENT_EXISTS or AGENT_UNKNOWN. */
export async function writeAgent(
  query: Query,
  { tenantId, ...given }: Change,
  { codeTools, codeAgents, ...mode }: WriteMode & Pick<AdminPorts, 'codeTools' | 'codeAgents'>,
): Promise<AgentDetails> {
  const owner = { tenantId, name: given.name };
  if (tenantId !== undefined) await checkTenant(query, tenantId);
  await checkSubAgents(query, { tenantId, ...given }, codeAgents);
  const asks = (given.subAgents ?? []).map((name) => `${ASK}_${name}`);
  await checkChange(query, { tenantId, ...given }, [...codeTools, ...asks]);
  await writeScopedRow(query, AGENTS, { ...mode, owner, values: columnsOf(given) });
  const written = await readAgentOf(query, owner);
  if (written.tier === null || written.model === null) return written;
  throw new RuntimeError('ADMIN_INPUT_INVALID', { operation: 'agent.set', issues: `the agent ${ONE_MODEL}` });
}

async function checkChange(query: Query, given: Change, codeTools: readonly string[]): Promise<void> {
  const { tools, toolPermissions, outputSchema, tier, modelRules } = given;
  const rules = readToolRules({ enabled_tools: tools, tool_permissions: toolPermissions }, `agent "${given.name}"`);
  await checkRules(query, [rules], codeTools);
  await checkSkills(query, given);
  await checkTiers(query, [tier ?? undefined, ...(modelRules ?? []).map((rule) => rule.tier)]);
  if (outputSchema === undefined || outputSchema === null) return;
  const reason = await Promise.resolve(outputSchema).then(whyUnusable).catch(errorText);
  if (reason !== undefined) throw new RuntimeError('OUTPUT_FORMAT_INVALID', { reason });
}

/** Rejects with SKILL_UNKNOWN. Of an agent for all tenants each tenant may have skills of its own. */
async function checkSkills(query: Query, { tenantId, skills }: Change): Promise<void> {
  if (skills === undefined || skills === null || skills.length === 0) return;
  const [unknown] = await query<{ name: string }>(unknownSkills({ tenantId, names: skills }));
  if (unknown !== undefined) throw unknownRow(SKILLS, { tenantId, name: unknown.name });
}

function columnsOf(given: Change): Readonly<Record<string, unknown>> {
  return {
    description: given.description,
    system_prompt: given.systemPrompt,
    tier: given.tier,
    model: given.model,
    model_rules: given.modelRules,
    temperature: given.temperature,
    max_iterations: given.maxIterations,
    tools: given.tools,
    tool_permissions: given.toolPermissions,
    skills: given.skills,
    sub_agents: given.subAgents,
    output_schema: given.outputSchema,
    limits: given.limits,
    is_active: given.isActive,
  };
}

/** Throws AGENT_UNKNOWN. */
export async function readAgentOf(query: Query, owner: RowOwner): Promise<AgentDetails> {
  const [row] = await query<AgentDetails>(readAgentRow(owner));
  if (row === undefined) throw unknownRow(AGENTS, owner);
  return row;
}
