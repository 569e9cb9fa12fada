import { operation } from '../operation';
import { scoped } from '../scope';
import { changeShape, SHARED, writeAgent } from './agent-rows';

const input = scoped(SHARED, changeShape);

export const createAgent = operation({
  name: 'agent.create',
  title: 'Create',
  action: 'Create an agent',
  description: 'Add an agent, with a prompt, a model, tools and limits of its own',
  input,
  run: ({ postgres: { transaction }, codeTools, codeAgents }, given) =>
    transaction((query) => writeAgent(query, given, { mayInsert: true, mayUpdate: false, codeTools, codeAgents })),
});

export const setAgent = operation({
  name: 'agent.set',
  title: 'Create or Update',
  action: 'Create or update an agent',
  description: 'Add an agent, or change the one that has this name; can be repeated',
  input,
  run: ({ postgres: { transaction }, codeTools, codeAgents }, given) =>
    transaction((query) => writeAgent(query, given, { mayInsert: true, mayUpdate: true, codeTools, codeAgents })),
});

export const updateAgent = operation({
  name: 'agent.update',
  title: 'Update',
  action: 'Update an agent',
  description: 'Change an agent; runs under way keep their prompt and model',
  input,
  run: ({ postgres: { transaction }, codeTools, codeAgents }, given) =>
    transaction((query) => writeAgent(query, given, { mayInsert: false, mayUpdate: true, codeTools, codeAgents })),
});
