import { operation } from '../operation';
import { scoped } from '../scope';
import { deleteScopedRow } from '../scoped-row';
import { nameField, SHARED } from './agent-rows';
import { AGENTS } from './check-sub-agents';

export const deleteAgent = operation({
  name: 'agent.delete',
  title: 'Delete',
  action: 'Delete an agent',
  description: 'Forget an agent; tasks that name it are refused',
  input: scoped(SHARED, { name: nameField }),
  run: ({ postgres: { query } }, owner) => deleteScopedRow(query, AGENTS, owner),
});
