import type { INodeProperties } from 'n8n-workflow';

import { of, operations } from './common';

const usd = (displayName: string, name: string, isRequired: boolean): INodeProperties => ({
  displayName,
  name,
  type: 'string',
  required: isRequired,
  default: '',
  placeholder: 'e.g. 0.15',
});

export const modelProperties: INodeProperties[] = [
  operations(
    'price',
    [
      {
        name: 'List',
        value: 'list',
        action: 'List model prices',
        description: 'What each model costs for a million tokens',
      },
      {
        name: 'Set',
        value: 'set',
        action: 'Set the price of a model',
        description: 'Give a model its price, also in place of another',
      },
      {
        name: 'Sync',
        value: 'sync',
        action: 'Sync model prices',
        description: "Add the prices of the provider's list that are missing, and tell what differs",
      },
    ],
    'list',
  ),
  {
    displayName: 'Model',
    name: 'modelId',
    type: 'string',
    required: true,
    default: '',
    placeholder: 'e.g. openai/gpt-4o-mini',
    displayOptions: of('price', 'set'),
  },
  { ...usd('Input (USD per 1M Tokens)', 'inputPer1M', true), displayOptions: of('price', 'set') },
  { ...usd('Output (USD per 1M Tokens)', 'outputPer1M', true), displayOptions: of('price', 'set') },
  {
    displayName: 'Additional Fields',
    name: 'additionalFields',
    type: 'collection',
    placeholder: 'Add Field',
    default: {},
    displayOptions: of('price', 'set'),
    options: [
      usd('Cache Write (USD per 1M Tokens)', 'cacheWritePer1M', false),
      usd('Cache Write for 1 Hour (USD per 1M Tokens)', 'cacheWrite1hPer1M', false),
      usd('Cached Input (USD per 1M Tokens)', 'cachedInputPer1M', false),
      { displayName: 'Provider', name: 'provider', type: 'string', default: '' },
      usd('Reasoning (USD per 1M Tokens)', 'reasoningPer1M', false),
    ],
  },
  {
    displayName: 'Dry Run',
    name: 'dryRun',
    type: 'boolean',
    default: true,
    description: 'Whether to only tell what would change',
    displayOptions: of('price', 'sync'),
  },
  {
    displayName: 'Additional Fields',
    name: 'additionalFields',
    type: 'collection',
    placeholder: 'Add Field',
    default: {},
    displayOptions: of('price', 'sync'),
    options: [
      {
        displayName: 'List Address',
        name: 'from',
        type: 'string',
        default: '',
        placeholder: 'e.g. https://models.example.com/v1/models',
        description: "Another address of a list than the provider's own",
      },
      {
        displayName: 'Overwrite Models',
        name: 'overwrite',
        type: 'string',
        typeOptions: { multipleValues: true },
        default: [],
        description: 'Models whose prices may be changed. Others are only told.',
      },
      {
        displayName: 'Tiers',
        name: 'tiers',
        type: 'json',
        default: '{ "pro": "openai/gpt-4o" }',
        description: 'Tiers that get another model, as JSON',
      },
    ],
  },
];

export const tierProperties: INodeProperties[] = [
  operations(
    'tier',
    [
      { name: 'List', value: 'list', action: 'List tiers', description: 'The tiers with their models and prices' },
      { name: 'Set', value: 'set', action: 'Set a tier', description: 'Make a tier, or change one' },
    ],
    'list',
  ),
  {
    displayName: 'Code',
    name: 'code',
    type: 'string',
    required: true,
    default: '',
    placeholder: 'e.g. pro',
    description: 'A new code makes a new tier',
    displayOptions: of('tier', 'set'),
  },
  {
    displayName: 'Model',
    name: 'modelId',
    type: 'string',
    default: '',
    placeholder: 'e.g. openai/gpt-4o-mini',
    description: 'Empty leaves the model of the tier as it is',
    displayOptions: of('tier', 'set'),
  },
  {
    displayName: 'Additional Fields',
    name: 'additionalFields',
    type: 'collection',
    placeholder: 'Add Field',
    default: {},
    displayOptions: of('tier', 'set'),
    options: [
      {
        displayName: 'Free',
        name: 'isFree',
        type: 'boolean',
        default: false,
        description: 'Whether the tier is not billed, as long as its model has no price above zero',
      },
      {
        displayName: 'Max Tokens',
        name: 'maxTokens',
        type: 'number',
        typeOptions: { minValue: 1 },
        default: 1000,
        description: 'How many tokens one reply of the model may have',
      },
      {
        displayName: 'Model Silence Seconds',
        name: 'modelSilenceSeconds',
        type: 'number',
        typeOptions: { minValue: 1 },
        default: 120,
        description: 'How long the model may send nothing',
      },
      { displayName: 'Name', name: 'name', type: 'string', default: '', description: 'What people call the tier' },
      {
        displayName: 'Rank',
        name: 'rank',
        type: 'number',
        typeOptions: { minValue: 0 },
        default: 1,
        description: 'Tiers are ranked by it for the highest tier of a tenant',
      },
      {
        displayName: 'Temperature',
        name: 'temperature',
        type: 'number',
        typeOptions: { minValue: 0, maxValue: 2, numberPrecision: 2 },
        default: 0.5,
        description: 'How freely the model answers',
      },
      {
        displayName: 'Tool Rules',
        name: 'toolConfig',
        type: 'json',
        default: '{}',
        description: 'Rules for tools, for every tenant on this tier',
      },
    ],
  },
];
