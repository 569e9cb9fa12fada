import type { INodeCredentialDescription, INodeProperties } from 'n8n-workflow';

import { identity } from '../shared/panel/identity';
import { providerOption } from '../shared/panel/provider';
import { tenantField, tierField } from '../shared/panel/tenant-fields';

const COMPATIBLE = { 'options.modelProvider': ['openAiCompatible'] };

/** Credentials that n8n already has. */
export const credentials: INodeCredentialDescription[] = [
  {
    name: 'openRouterApi',
    displayName: 'Credential for OpenRouter',
    required: true,
    displayOptions: { hide: COMPATIBLE },
  },
  {
    name: 'openAiApi',
    displayName: 'Credential for the Model Provider',
    required: true,
    displayOptions: { show: COMPATIBLE },
  },
  { name: 'postgres', displayName: 'Credential for Postgres', required: true },
];

const options: INodeProperties[] = [
  { ...identity, displayName: 'Identity', description: 'Who the calls are for. They are billed under it.' },
  {
    displayName: 'Maximum Tokens',
    name: 'maxTokens',
    type: 'number',
    typeOptions: { minValue: 1 },
    default: 1024,
    description: 'Most tokens of a reply. Default: the value of the tier.',
  },
  {
    displayName: 'Model Name or ID',
    name: 'modelOverride',
    type: 'options',
    typeOptions: { loadOptionsMethod: 'getModels' },
    default: '',
    description:
      'A model within what the tenant may use, in place of the tier\'s. Choose from the list, or specify an ID using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
  },
  providerOption('Where the models of the tiers are'),
  {
    displayName: 'Temperature',
    name: 'temperature',
    type: 'number',
    typeOptions: { minValue: 0, maxValue: 2, numberPrecision: 2 },
    default: 0.7,
    description: 'How much a reply may vary. Default: the value of the tier.',
  },
];

/** The parameters of the node, in the order of the panel. */
export const properties: INodeProperties[] = [
  tenantField(
    'The tenant whose tiers, budget and bill apply. An expression sees the items of the node above, and nothing that a model writes.',
    '{{ $json.body.tenant }}',
  ),
  tierField,
  {
    displayName: 'Options',
    name: 'options',
    type: 'collection',
    placeholder: 'Add Option',
    default: {},
    options,
  },
];
