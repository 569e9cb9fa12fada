import { operation } from '../operation';
import { scoped } from '../scope';
import { changeShape, SHARED, wholeShape, writeSkill } from './skill-rows';

const input = scoped(SHARED, wholeShape);

export const createSkill = operation({
  name: 'skill.create',
  title: 'Create',
  action: 'Create a skill',
  description: 'Add a skill: instructions that a model loads when a task matches its description',
  input,
  run: ({ postgres: { transaction }, codeTools }, given) =>
    transaction((query) => writeSkill(query, given, { mayInsert: true, mayUpdate: false, codeTools })),
});

export const setSkill = operation({
  name: 'skill.set',
  title: 'Create or Update',
  action: 'Create or update a skill',
  description: 'Add a skill, or change the one that has this name; can be repeated',
  input,
  run: ({ postgres: { transaction }, codeTools }, given) =>
    transaction((query) => writeSkill(query, given, { mayInsert: true, mayUpdate: true, codeTools })),
});

export const updateSkill = operation({
  name: 'skill.update',
  title: 'Update',
  action: 'Update a skill',
  description: 'Change a skill; runs that have loaded it keep its text',
  input: scoped(SHARED, changeShape),
  run: ({ postgres: { transaction }, codeTools }, given) =>
    transaction((query) => writeSkill(query, given, { mayInsert: false, mayUpdate: true, codeTools })),
});
