import type { INodeProperties } from 'n8n-workflow';

/** Field for a tenant: from a list, or its id. */
export const tenantField = (description: string, example: string): INodeProperties => ({
  displayName: 'Tenant',
  name: 'tenantId',
  type: 'resourceLocator',
  required: true,
  default: { mode: 'list', value: '' },
  description,
  modes: [
    {
      displayName: 'From List',
      name: 'list',
      type: 'list',
      typeOptions: { searchListMethod: 'searchTenants', searchable: true },
    },
    { displayName: 'By ID', name: 'id', type: 'string', placeholder: `e.g. ${example}` },
  ],
});

/** Field for an agent of the tenant. */
export const agentField = (description: string): INodeProperties => ({
  displayName: 'Agent',
  name: 'agent',
  type: 'resourceLocator',
  default: { mode: 'list', value: '' },
  description,
  modes: [
    {
      displayName: 'From List',
      name: 'list',
      type: 'list',
      typeOptions: { searchListMethod: 'searchAgents', searchable: true },
    },
    { displayName: 'By Name', name: 'name', type: 'string', placeholder: 'e.g. support' },
  ],
});

/** Field for a tier of the database. */
export const tierField: INodeProperties = {
  displayName: 'Tier Name or ID',
  name: 'tier',
  type: 'options',
  typeOptions: { loadOptionsMethod: 'getTiers' },
  default: '',
  description:
    'Chooses the model, and with it the price. Choose from the list, or specify an ID using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
};
