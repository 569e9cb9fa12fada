import type { INodeProperties } from 'n8n-workflow';

import { OPERATIONS } from './operations.generated';

export type Shown = NonNullable<INodeProperties['displayOptions']>;

/** Parameters that say more than the key of an input: each for where it is shown. */
export type Custom = (shown: Shown) => INodeProperties[];

/** Shown with these operations of a resource. */
export function of(resource: string, ...operations: readonly string[]): Shown {
  return { show: { resource: [resource], operation: [...operations] } };
}

/** The tenant of an operation; `isRequired` false: empty means all of them. */
export function tenant(shown: Shown, isRequired = true): INodeProperties {
  return {
    displayName: isRequired ? 'Tenant' : 'Tenant (Optional)',
    name: 'tenantId',
    type: 'resourceLocator',
    required: isRequired,
    default: { mode: 'list', value: '' },
    description: isRequired
      ? 'The tenant that this is about'
      : 'Only what belongs to this tenant. Empty means all tenants.',
    displayOptions: shown,
    modes: [
      {
        displayName: 'From List',
        name: 'list',
        type: 'list',
        typeOptions: {
          searchListMethod: 'searchTenants',
          searchable: true,
          ...(isRequired
            ? { allowNewResource: { label: 'Create a tenant', method: 'createTenant', defaultName: 'New tenant' } }
            : {}),
        },
      },
      {
        displayName: 'By ID',
        name: 'id',
        type: 'string',
        placeholder: 'e.g. 3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f',
      },
    ],
  };
}

/** The MCP server of an operation. */
export function server(shown: Shown, isRequired = true): INodeProperties {
  return {
    displayName: 'Server Name or ID',
    name: 'server',
    type: 'options',
    typeOptions: {
      loadOptionsMethod: isRequired ? 'getServers' : 'getServersOrAll',
      loadOptionsDependsOn: ['tenantId.value', 'operation'],
    },
    required: isRequired,
    default: '',
    description: `${isRequired ? '' : 'Empty means all servers of the tenant. '}Choose from the list, or specify an ID using an <a href="https://docs.n8n.io/code/expressions/">expression</a>${isRequired ? '' : '.'}`,
    displayOptions: shown,
  };
}

/** Both for lists that come in pages. */
export function paging(shown: Shown): INodeProperties[] {
  return [
    {
      displayName: 'Return All',
      name: 'returnAll',
      type: 'boolean',
      default: false,
      description: 'Whether to return all results or only up to a given limit',
      displayOptions: shown,
    },
    {
      displayName: 'Limit',
      name: 'limit',
      type: 'number',
      typeOptions: { minValue: 1 },
      default: 50,
      description: 'Max number of results to return',
      displayOptions: { show: { ...shown.show, returnAll: [false] } },
    },
  ];
}

/** The operations of a resource. */
export function operations(resource: keyof typeof OPERATIONS, first: string): INodeProperties {
  return {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: { show: { resource: [resource] } },
    options: OPERATIONS[resource],
    default: first,
  };
}
