import type { INodeCredentialDescription, INodeProperties, INodePropertyOptions } from 'n8n-workflow';

import { modelProperties, tierProperties } from './models';
import { approvalProperties, diagnosticsProperties, runProperties } from './runs';
import { mcpServerProperties, oauthLoginProperties, secretProperties } from './servers';
import { tenantProperties } from './tenant';
import { toolProperties } from './tool';
import { usageProperties } from './usage';

/**
 * Credentials that only some operations need. They are hidden instead of shown: were they shown by resource and operation, the editor
 * would take these for the node's choice of an authentication, and leave them out of the panel. One match hides.
 */
const QUIET = ['addDemoTenant', 'prepareDatabase', 'schema'];
const ofProvider = {
  hide: {
    resource: ['mcpServer', 'oauthLogin', 'run', 'secret', 'tenant', 'tier', 'tool', 'usage'],
    operation: [...QUIET, 'list', 'set'],
  },
};
const ofVault = {
  hide: {
    resource: ['price', 'run', 'tenant', 'tier', 'usage'],
    operation: [...QUIET, 'add', 'approve', 'create', 'disable', 'enable', 'remove', 'setLimits', 'update'],
    // Create or Update of a tool, which no secret is opened for: `set` is also what stores one.
    schemaMode: ['fields', 'json', 'none'],
  },
};
const ofRedis = {
  hide: {
    resource: ['approval', 'mcpServer', 'oauthLogin', 'price', 'run', 'secret', 'tenant', 'tier', 'tool', 'usage'],
    operation: QUIET,
  },
};

export const credentials: INodeCredentialDescription[] = [
  { name: 'postgres', displayName: 'Credential for Postgres', required: true },
  { name: 'openRouterApi', displayName: 'OpenRouter (optional)', displayOptions: ofProvider },
  { name: 'openAiApi', displayName: 'Other Model Provider (optional)', displayOptions: ofProvider },
  { name: 'universalAiAgentVaultApi', displayName: 'Vault Key (optional)', displayOptions: ofVault },
  { name: 'redis', displayName: 'Redis (optional)', displayOptions: ofRedis },
];

/** The resource, then the parameters of each; their names are the keys of the library's functions. */
export const properties: INodeProperties[] = [
  {
    displayName: 'Resource',
    name: 'resource',
    type: 'options',
    noDataExpression: true,
    options: [
      { name: 'Approval', value: 'approval' },
      { name: 'Diagnostic', value: 'diagnostics' },
      { name: 'MCP Server', value: 'mcpServer' },
      { name: 'Model', value: 'price' },
      { name: 'OAuth Login', value: 'oauthLogin' },
      { name: 'Run', value: 'run' },
      { name: 'Secret', value: 'secret' },
      { name: 'Tenant', value: 'tenant' },
      { name: 'Tier', value: 'tier' },
      { name: 'Tool', value: 'tool' },
      { name: 'Usage', value: 'usage' },
    ],
    default: 'tenant',
  },
  ...approvalProperties,
  ...diagnosticsProperties,
  ...mcpServerProperties,
  ...modelProperties,
  ...oauthLoginProperties,
  ...runProperties,
  ...secretProperties,
  ...tenantProperties,
  ...tierProperties,
  ...toolProperties,
  ...usageProperties,
];

/** Each operation in words, by `resource.operation`. */
const actions = Object.fromEntries(
  properties
    .filter(({ name }) => name === 'operation')
    .flatMap(({ displayOptions, options = [] }) => {
      const [resource] = displayOptions?.show?.resource ?? [];
      const ofResource = options as INodePropertyOptions[];
      return ofResource.map(({ value, action }) => [`${resource as string}.${value as string}`, action]);
    }),
);

/** Shown below the name of the node on the canvas. */
export const subtitle = `={{ (${JSON.stringify(actions)})[$parameter["resource"] + "." + $parameter["operation"]] }}`;
