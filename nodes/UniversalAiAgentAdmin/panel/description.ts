import type { INodeCredentialDescription, INodeProperties } from 'n8n-workflow';

import { of } from './common';
import { HIDDEN, OPERATIONS, RESOURCES } from './operations.generated';
import { operationProperties } from './properties.generated';

/**
 * Credentials that only some operations need are hidden instead of shown: were they shown by resource and operation, the editor
 * would take these for the node's choice of an authentication, and leave them out of the panel.
 */
const ofProvider = { hide: HIDDEN.provider };
// Create or Update of a tool opens no secret; `set` is also what stores one.
const ofVault = { hide: { ...HIDDEN.vault, schemaMode: ['fields', 'json', 'none'] } };
const ofRedis = { hide: HIDDEN.redis };

export const credentials: INodeCredentialDescription[] = [
  { name: 'postgres', displayName: 'Credential for Postgres', required: true },
  { name: 'openRouterApi', displayName: 'Credential for OpenRouter', displayOptions: ofProvider },
  { name: 'openAiApi', displayName: 'Credential for the Model Provider', displayOptions: ofProvider },
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
    options: RESOURCES,
    default: 'tenant',
  },
  ...operationProperties,
  // n8n selects a credential by itself only for a node that has none.
  {
    displayName: 'The run continues in this node: select the credential of its model provider above.',
    name: 'providerNotice',
    type: 'notice',
    default: '',
    displayOptions: of('approval', 'decide'),
  },
];

/** Each operation in words, by `resource.operation`. */
const actions = Object.fromEntries(
  Object.entries(OPERATIONS).flatMap(([resource, ofResource]) =>
    ofResource.map(({ value, action }) => [`${resource}.${value}`, action]),
  ),
);

/** Shown below the name of the node on the canvas. */
export const subtitle = `={{ (${JSON.stringify(actions)})[$parameter["resource"] + "." + $parameter["operation"]] }}`;
