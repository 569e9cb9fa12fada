import type { SkillFiles } from '../../../contracts/tools/skill';
import { named } from '../named';
import { OF_OWNER, type RowOwner, scopedRows } from './scoped-rows';

/** A skill in a list. */
export interface SkillSummary {
  readonly name: string;
  readonly scope: 'tenant' | 'shared';
  readonly description: string;
  readonly version: number;
  readonly is_active: boolean;
}

/** The whole row of a skill. */
export interface SkillDetails extends SkillSummary {
  /** SKILL.md as it was written. */
  readonly content: string;
  readonly files: SkillFiles;
  readonly updated_at: string;
}

const SUMMARY = `
skill.name, CASE WHEN skill.tenant_id IS NULL THEN 'shared' ELSE 'tenant' END AS scope, skill.description, skill.version, skill.is_active`;

/** A tenant's own skills and those of all tenants; or only the latter. */
export const listSkillRows = named<Omit<RowOwner, 'name'>>(`
SELECT ${SUMMARY} FROM elo_agent_skills AS skill
WHERE skill.tenant_id = :tenantId::uuid OR skill.tenant_id IS NULL
ORDER BY skill.name, skill.tenant_id NULLS LAST`);

const DETAILS = `${SUMMARY}, skill.content, skill.files, skill.updated_at::text AS updated_at`;

export const readSkillRow = named<RowOwner>(`SELECT ${DETAILS} FROM elo_agent_skills AS skill WHERE ${OF_OWNER}`);

/** All of an owner, or the one of a name. */
export const readSkillRows = named<Partial<RowOwner>>(`
SELECT ${DETAILS} FROM elo_agent_skills AS skill
WHERE (skill.tenant_id = :tenantId::uuid OR skill.tenant_id IS NULL) AND (:name::text IS NULL OR skill.name = :name)
ORDER BY skill.name, skill.tenant_id NULLS LAST`);

/** Names without a skill: of the tenant and of all tenants, or, without a tenant, of anybody. */
export const unknownSkills = named<Omit<RowOwner, 'name'> & { readonly names: readonly string[] }>(`
SELECT given.name FROM unnest(:names::text[]) AS given (name)
WHERE given.name <> '*' AND NOT EXISTS (
  SELECT FROM elo_agent_skills AS skill
  WHERE skill.name = given.name AND (:tenantId::uuid IS NULL OR skill.tenant_id IS NULL OR skill.tenant_id = :tenantId::uuid)
)`);

/** Names that are a tier, or a model with a price. */
export const knownModels = named<{ readonly names: readonly string[] }>(`
SELECT name FROM (
  SELECT code::text AS name FROM elo_agent_tiers UNION SELECT model_id FROM elo_agent_tiers
  UNION SELECT model_id FROM elo_model_pricing
) AS known WHERE name = ANY (:names::text[])`);

export const SKILL_ROWS = scopedRows('elo_agent_skills');
