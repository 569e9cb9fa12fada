import type { IExecuteFunctions, INodeExecutionData, INodeType, INodeTypeDescription } from 'n8n-workflow';

import { getModels, getTiers } from '../shared/panel/model-pickers';
import { getSkills, getTenantTools, searchAgents, searchTenants } from '../shared/panel/pickers';
import { showTenantTools } from './panel/pickers';
import { testSqlRole } from './panel/test-sql-role';
import { testVaultKey } from './panel/test-vault-key';

/** The agent node in one of its versions, which differ in their panel. */
export class AgentNode implements INodeType {
  constructor(readonly description: INodeTypeDescription) {}

  methods = {
    listSearch: { searchAgents, searchTenants },
    loadOptions: { getModels, getSkills, getTenantTools, getTiers, showTenantTools },
    credentialTest: { testSqlRole, testVaultKey },
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    // Loaded with the first run: n8n loads this file at every start, also where the node is never used.
    const { doItems } = await import('./operations/do-items');
    return [await doItems(this)];
  }
}
