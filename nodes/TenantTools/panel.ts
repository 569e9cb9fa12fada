import type { INodeCredentialDescription, INodeProperties } from 'n8n-workflow';

import { identity } from '../shared/panel/identity';
import { providerOption } from '../shared/panel/provider';
import { agentField, tenantField } from '../shared/panel/tenant-fields';

const withOption = (name: string): INodeCredentialDescription['displayOptions'] => ({
  show: { [`options.${name}`]: [true] },
});

const ofProvider = (provider: string): INodeCredentialDescription['displayOptions'] => ({
  show: { 'options.modelProvider': [provider] },
});

/** Credentials that n8n already has. */
export const credentials: INodeCredentialDescription[] = [
  {
    name: 'openRouterApi',
    displayName: 'Credential for OpenRouter',
    required: true,
    displayOptions: ofProvider('openRouter'),
  },
  {
    name: 'openAiApi',
    displayName: 'Credential for the Model Provider',
    required: true,
    displayOptions: ofProvider('openAiCompatible'),
  },
  { name: 'postgres', displayName: 'Credential for Postgres', required: true },
  {
    name: 'universalAiAgentVaultApi',
    displayName: 'Vault Key',
    required: true,
    displayOptions: withOption('useVaultKey'),
  },
  {
    name: 'universalAiAgentSqlApi',
    displayName: 'Role for SQL Queries',
    required: true,
    displayOptions: withOption('useSqlRole'),
  },
  { name: 'redis', displayName: 'Credential for Redis', required: true, displayOptions: withOption('useRedis') },
];

const options: INodeProperties[] = [
  { ...identity, displayName: 'Identity', description: identity.description?.replace('task', 'calls') },
  {
    displayName: 'Offer Only Names or IDs',
    name: 'tools',
    type: 'multiOptions',
    typeOptions: { loadOptionsMethod: 'getTenantTools', loadOptionsDependsOn: ['tenantId.value'] },
    default: [],
    description:
      'The tools that are offered, of those that the tenant has; empty means all of them. Choose from the list, or specify IDs using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
  },
  {
    ...providerOption(
      "Where the models of the tenant's agents are. With it the agents that the agent can ask are offered, each as a tool ask_ with its name.",
    ),
    displayName: 'Provider for Agents',
    default: 'openRouter',
  },
  {
    displayName: 'Redis',
    name: 'useRedis',
    type: 'boolean',
    noDataExpression: true,
    default: true,
    description: 'Whether to offer redis_get, and to share the rate limits of tools with other processes',
  },
  {
    displayName: 'SQL Role',
    name: 'useSqlRole',
    type: 'boolean',
    noDataExpression: true,
    default: true,
    description: 'Whether to offer the tool sql_query, with the credential of its read-only role',
  },
  {
    displayName: 'Vault Key',
    name: 'useVaultKey',
    type: 'boolean',
    noDataExpression: true,
    default: true,
    description:
      'Whether to open sealed secrets with a vault key. Set this when tools or MCP servers name a secret of the vault.',
  },
];

/** The parameters of the node, in the order of the panel. */
export const properties: INodeProperties[] = [
  tenantField(
    'The tenant whose tools, rules and limits apply. An expression sees the items of the agent, and nothing that its model writes.',
    '{{ $json.body.tenant }}',
  ),
  agentField(
    'An agent of the tenant whose tools, rules, tier and limits on calls hold too. Empty means those of the tenant alone.',
  ),
  {
    displayName: 'Tier',
    name: 'tier',
    type: 'string',
    default: '',
    placeholder: 'e.g. pro',
    description: 'The tier whose tools are offered. Empty means that of the agent, or the default of the tenant.',
  },
  {
    displayName: 'Options',
    name: 'options',
    type: 'collection',
    placeholder: 'Add Option',
    default: {},
    options,
  },
];
