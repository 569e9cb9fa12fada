import type { INodeProperties } from 'n8n-workflow';

import { type Custom, type Shown, tenant } from './common';

export * from './tool-forms';

/** The tenant of a row, unless it is shared. */
export const owner: Custom = (shown) => [tenant({ show: { ...shown.show, shared: [false] } })];

/** A tenant that gets a new tool at once. */
export const enableFor: Custom = (shown) => [
  {
    displayName: 'Enable for Tenant (Optional)',
    name: 'enableFor',
    type: 'resourceLocator',
    default: { mode: 'list', value: '' },
    description: 'A tenant that gets the tool at once',
    displayOptions: shown,
    modes: [
      {
        displayName: 'From List',
        name: 'list',
        type: 'list',
        typeOptions: { searchListMethod: 'searchTenants', searchable: true },
      },
      { displayName: 'By ID', name: 'id', type: 'string' },
    ],
  },
];

export const settings: Custom = (shown) => [settingsOf(shown, 'What holds for the tenant from the start')];
export const changedSettings: Custom = (shown) => [settingsOf(shown, 'Only what you add here changes')];

const settingsOf = (displayOptions: Shown, description: string): INodeProperties => ({
  displayName: 'Settings',
  name: 'settings',
  type: 'collection',
  placeholder: 'Add Setting',
  default: {},
  description,
  displayOptions,
  options: [
    {
      displayName: 'Customer Messages',
      name: 'customer_messages',
      type: 'json',
      default: '{}',
      placeholder: '{ "budget_exceeded": "We will answer tomorrow." }',
      description: 'What a customer reads in place of an answer, by error code or status',
    },
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
      displayName: 'Language',
      name: 'language',
      type: 'string',
      default: '',
      placeholder: 'e.g. German',
      description: 'Of what a customer reads in place of an answer, and for models if tell_context is set',
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
    {
      displayName: 'Session Days',
      name: 'session_days',
      type: 'number',
      typeOptions: { minValue: 1 },
      default: 30,
      description: 'How long messages of conversations are kept',
    },
    {
      displayName: 'Session Window',
      name: 'session_window_tokens',
      type: 'number',
      typeOptions: { minValue: 200 },
      default: 8000,
      description: 'How many tokens of a conversation a run begins with. What does not fit is summed up.',
    },
  ],
});
