import { deleteSkillRow } from '../../storage/sql/admin/manage-skills';
import { operation } from '../operation';
import { scoped, shownScope } from '../scope';
import { nameField, SHARED, unknownSkill } from './skill-rows';

export const deleteSkill = operation({
  name: 'skill.delete',
  title: 'Delete',
  action: 'Delete a skill',
  description: 'Forget a skill; agents that name it do without it',
  input: scoped(SHARED, { name: nameField }),
  run: async ({ postgres: { query } }, { tenantId, name }) => {
    const deleted = await query(deleteSkillRow({ tenantId, name }));
    if (deleted.length === 0) throw unknownSkill({ tenantId, name });
    return { ...shownScope(tenantId), name, deleted: true as const };
  },
});
