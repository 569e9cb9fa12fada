import { operation } from '../operation';
import { scoped } from '../scope';
import { deleteScopedRow } from '../scoped-row';
import { nameField, SHARED, SKILLS } from './skill-rows';

export const deleteSkill = operation({
  name: 'skill.delete',
  title: 'Delete',
  action: 'Delete a skill',
  description: 'Delete a skill; agents that name it continue without it',
  input: scoped(SHARED, { name: nameField }),
  run: ({ postgres: { query } }, owner) => deleteScopedRow(query, SKILLS, owner),
});
