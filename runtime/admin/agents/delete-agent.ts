import { deleteAgentRow } from '../../storage/sql/admin/manage-agents';
import { operation } from '../operation';
import { scoped, shownScope } from '../scope';
import { nameField, SHARED, unknownAgent } from './agent-rows';

export const deleteAgent = operation({
  name: 'agent.delete',
  title: 'Delete',
  action: 'Delete an agent',
  description: 'Forget an agent; tasks that name it are refused',
  input: scoped(SHARED, { name: nameField }),
  run: async ({ postgres: { query } }, { tenantId, name }) => {
    const deleted = await query(deleteAgentRow({ tenantId, name }));
    if (deleted.length === 0) throw unknownAgent({ tenantId, name });
    return { ...shownScope(tenantId), name, deleted: true as const };
  },
});
