import type { INodeProperties } from 'n8n-workflow';

import { of, operations, tenant } from './common';

const period: INodeProperties[] = [
  {
    displayName: 'From',
    name: 'from',
    type: 'string',
    default: '',
    placeholder: "e.g. {{ $now.startOf('month').toISODate() }}",
    description: 'The first day, as YYYY-MM-DD in UTC',
  },
  {
    displayName: 'Until',
    name: 'until',
    type: 'string',
    default: '',
    placeholder: 'e.g. {{ $now.toISODate() }}',
    description: 'The day after the last one, as YYYY-MM-DD in UTC',
  },
];

export const usageProperties: INodeProperties[] = [
  operations('usage', 'summary'),
  tenant(of('usage', 'summary', 'export', 'report', 'unknown'), false),
  {
    displayName: 'Group By',
    name: 'by',
    type: 'multiOptions',
    options: [
      { name: 'Client', value: 'client' },
      { name: 'Day', value: 'day' },
      { name: 'Dialog', value: 'dialog' },
      { name: 'Model', value: 'model' },
      { name: 'Month', value: 'month' },
      { name: 'Session', value: 'session' },
      { name: 'Tenant', value: 'tenant' },
      { name: 'Tier', value: 'tier' },
      { name: 'User', value: 'user' },
    ],
    default: ['month', 'model', 'tier'],
    description: 'One item for each combination that there is',
    displayOptions: of('usage', 'summary'),
  },
  {
    displayName: 'Format',
    name: 'format',
    type: 'options',
    options: [
      { name: 'CSV', value: 'csv' },
      { name: 'JSON', value: 'json' },
    ],
    default: 'csv',
    displayOptions: of('usage', 'export'),
  },
  {
    displayName: 'Limit',
    name: 'limit',
    type: 'number',
    typeOptions: { minValue: 1 },
    default: 50,
    description: 'Max number of results to return',
    displayOptions: of('usage', 'topSpenders'),
  },
  {
    displayName: 'Filters',
    name: 'filters',
    type: 'collection',
    placeholder: 'Add Filter',
    default: {},
    displayOptions: of('usage', 'summary', 'topSpenders', 'export', 'report'),
    options: period,
  },
];
