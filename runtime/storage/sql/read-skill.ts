import type { SkillFile, SkillReader, SkillRow } from '../../contracts/tools/skill';
import { named } from './named';

/** A row of elo_agent_skills as a run reads it. */
export interface ReadSkill extends Pick<SkillRow, 'name' | 'content' | 'paths'> {
  readonly is_active: boolean;
  readonly file: SkillFile | null;
}

/** The tenant's own skill of the name, else that for all tenants. */
export const readSkillStatement = named<Parameters<SkillReader['read']>[0]>(`
SELECT skill.name, skill.content, skill.is_active,
  ARRAY(SELECT jsonb_object_keys(skill.files) ORDER BY 1) AS paths, skill.files -> :path::text AS file
FROM elo_agent_skills AS skill
WHERE skill.name = :name AND (skill.tenant_id = :tenantId::uuid OR skill.tenant_id IS NULL)
ORDER BY skill.tenant_id NULLS LAST LIMIT 1`);
