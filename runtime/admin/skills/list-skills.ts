import { isRuntimeError } from '../../errors/runtime-error';
import { checkSkill } from '../../skills/check-skill';
import {
  listSkillRows,
  readSkillRows,
  type SkillDetails,
  type SkillSummary,
} from '../../storage/sql/admin/manage-skills';
import type { Query } from '../../storage/statement';
import { checkTenant } from '../check-tenant';
import { type AdminPorts, operation } from '../operation';
import { scoped, shownScope } from '../scope';
import { unknownRow } from '../scoped-row';
import { catalogue, knownAmong, missing } from './skill-issues';
import { nameField, readSkillOf, SHARED, SKILLS } from './skill-rows';

export const getSkill = operation({
  name: 'skill.get',
  title: 'Get',
  action: 'Get a skill',
  description: 'The text of a skill as it was written, with its files',
  input: scoped(SHARED, { name: nameField }),
  run: ({ postgres: { query } }, owner) => readSkillOf(query, owner),
});

export const listSkills = operation({
  name: 'skill.list',
  title: 'List',
  action: 'List skills',
  description: 'The skills of a tenant and those of all tenants',
  lists: 'skills',
  input: scoped(SHARED, {}),
  run: async ({ postgres: { query } }, { tenantId }) => {
    if (tenantId !== undefined) await checkTenant(query, tenantId);
    return { ...shownScope(tenantId), skills: await query<SkillSummary>(listSkillRows({ tenantId })) };
  },
});

export const validateSkills = operation({
  name: 'skill.validate',
  title: 'Validate',
  action: 'Validate skills',
  description: 'Issues of skills: tools that the tenant lacks, unknown models, deviations from the specification',
  lists: 'skills',
  input: scoped(SHARED, { name: nameField.optional().meta({ group: 'filters' }) }),
  run: async (ports, { tenantId, name }) => {
    const { query } = ports.postgres;
    if (tenantId !== undefined) await checkTenant(query, tenantId);
    const rows = await query<SkillDetails>(readSkillRows({ tenantId, name }));
    if (name !== undefined && rows.length === 0) throw unknownRow(SKILLS, { tenantId, name });
    const known = await toolsOf(ports, tenantId);
    const skills = [];
    for (const row of rows) {
      skills.push({ name: row.name, scope: row.scope, issues: await issuesOf(query, row, known) });
    }
    return { ...shownScope(tenantId), skills };
  },
  isGood: ({ skills }) => skills.every(({ issues }) => issues.length === 0),
});

async function issuesOf(
  query: Query,
  { content }: SkillDetails,
  known: ReturnType<typeof knownAmong>,
): Promise<readonly string[]> {
  try {
    const skill = await checkSkill(content);
    return [...skill.issues, ...(await missing(query, skill, known))];
  } catch (error) {
    if (isRuntimeError(error) && error.code === 'SKILL_INVALID') return [error.message];
    throw error;
  }
}

/** The tools that the tenant has now, or all that there are. */
async function toolsOf(
  { postgres: { query }, tenantTools, codeTools }: AdminPorts,
  tenantId: string | undefined,
): Promise<ReturnType<typeof knownAmong>> {
  if (tenantId === undefined) return catalogue(query, codeTools);
  const { tools } = await tenantTools.list({ tenantId });
  return knownAmong(
    tools.flatMap(({ name, qualified_name: qualified }) => [name, ...(qualified === undefined ? [] : [qualified])]),
  );
}
