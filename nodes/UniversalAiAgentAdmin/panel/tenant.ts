import type { INodeProperties } from 'n8n-workflow';

import { of, operations, paging, tenant } from './common';

/** Operations that may create a tenant. */
const ofNew = of('tenant', 'create', 'set');

const settings = (operation: 'create' | 'update'): INodeProperties => ({
  displayName: 'Settings',
  name: 'settings',
  type: 'collection',
  placeholder: 'Add Setting',
  default: {},
  description: operation === 'create' ? 'What holds for the tenant from the start' : 'Only what you add here changes',
  displayOptions: operation === 'create' ? ofNew : of('tenant', operation),
  options: [
    {
      displayName: 'Default Tier Name or ID',
      name: 'default_tier',
      type: 'options',
      typeOptions: { loadOptionsMethod: 'getTiers' },
      default: '',
      description:
        'The tier of tasks that name none. Choose from the list, or specify an ID using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
    },
    {
      displayName: 'Highest Tier Name or ID',
      name: 'max_tier',
      type: 'options',
      typeOptions: { loadOptionsMethod: 'getTiers' },
      default: '',
      description:
        'No task may use a tier above it. Choose from the list, or specify an ID using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
    },
    {
      displayName: 'Max Iterations',
      name: 'max_iterations',
      type: 'number',
      typeOptions: { minValue: 1, maxValue: 50 },
      default: 10,
      description: 'How many model calls a run may make',
    },
    {
      displayName: 'Monthly Cost Limit (USD)',
      name: 'monthly_cost_limit_usd',
      type: 'string',
      default: '20',
      placeholder: 'e.g. 20',
      description: 'The budget of a month. Runs that could exceed it are refused before they cost anything.',
    },
    {
      displayName: 'Monthly Token Limit',
      name: 'monthly_token_limit',
      type: 'string',
      typeOptions: { password: true },
      default: '1000000',
      description: 'The tokens of a month',
    },
    {
      displayName: 'Other Settings',
      name: 'other',
      type: 'json',
      default: '{}',
      description: 'More settings as JSON, such as tool_config or callback_hosts. Null takes a setting away.',
    },
    {
      displayName: 'Runs per Minute',
      name: 'runs_per_minute',
      type: 'number',
      typeOptions: { minValue: 1 },
      default: 60,
      description: 'How many runs may begin in a minute',
    },
  ],
});

export const tenantProperties: INodeProperties[] = [
  operations('tenant', 'create'),
  tenant(of('tenant', 'get', 'update', 'activate', 'deactivate', 'delete')),
  {
    displayName: 'Name',
    name: 'name',
    type: 'string',
    required: true,
    default: '',
    placeholder: 'e.g. Acme Bikes',
    description: 'What people call the tenant',
    displayOptions: ofNew,
  },
  {
    displayName: 'New Name',
    name: 'name',
    type: 'string',
    default: '',
    description: 'Empty leaves the name as it is',
    displayOptions: of('tenant', 'update'),
  },
  {
    displayName: 'Tool Names or IDs',
    name: 'tools',
    type: 'multiOptions',
    typeOptions: { loadOptionsMethod: 'getTools' },
    default: [],
    description:
      'The tools that the tenant gets. Choose from the list, or specify IDs using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
    displayOptions: ofNew,
  },
  settings('create'),
  settings('update'),
  ...paging(of('tenant', 'list')),
  {
    displayName: 'Filters',
    name: 'filters',
    type: 'collection',
    placeholder: 'Add Filter',
    default: {},
    displayOptions: of('tenant', 'list'),
    options: [
      {
        displayName: 'Active',
        name: 'active',
        type: 'boolean',
        default: true,
        description: 'Whether to list active tenants or those that are not',
      },
      {
        displayName: 'Name Contains',
        name: 'filter',
        type: 'string',
        default: '',
        description: 'A part of the name, or a whole ID',
      },
    ],
  },
  {
    displayName: 'Additional Fields',
    name: 'additionalFields',
    type: 'collection',
    placeholder: 'Add Field',
    default: {},
    displayOptions: ofNew,
    options: [
      {
        displayName: 'ID',
        name: 'id',
        type: 'string',
        default: '',
        description: 'A UUID of your own. Without one, the database makes it.',
      },
    ],
  },
];
