import type { SkillReader } from '../../contracts/tools/skill';
import { type ReadSkill, readSkillStatement } from '../sql/read-skill';
import type { Query } from '../statement';

/** Skills of tenants from elo_agent_skills. Rejects with a DB_ code. */
export function createSkillReader(query: Query): SkillReader {
  return {
    read: async (request) => {
      const [row] = await query<ReadSkill>(readSkillStatement(request));
      if (row?.is_active !== true) return undefined;
      const { is_active: _isActive, file, ...read } = row;
      return file === null ? read : { ...read, file };
    },
  };
}
