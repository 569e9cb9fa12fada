import type { INodeProperties } from 'n8n-workflow';

import { of, operations, server, tenant } from './common';

export const mcpServerProperties: INodeProperties[] = [
  operations('mcpServer', 'add'),
  tenant(of('mcpServer', 'add', 'approve', 'disconnect', 'health', 'list', 'refresh', 'remove')),
  server(of('mcpServer', 'approve', 'remove')),
  {
    displayName: 'Name',
    name: 'name',
    type: 'string',
    required: true,
    default: '',
    placeholder: 'e.g. shop',
    description: 'Stands before the names of its tools, as in shop_search',
    displayOptions: of('mcpServer', 'add'),
  },
  {
    displayName: 'URL',
    name: 'url',
    type: 'string',
    required: true,
    default: '',
    placeholder: 'e.g. https://mcp.example.com/mcp',
    displayOptions: of('mcpServer', 'add'),
  },
  {
    displayName: 'Additional Fields',
    name: 'additionalFields',
    type: 'collection',
    placeholder: 'Add Field',
    default: {},
    displayOptions: of('mcpServer', 'add'),
    options: [
      {
        displayName: 'Authentication',
        name: 'auth',
        type: 'json',
        default: '{ "kind": "bearer", "token": "vault:NAME" }',
        description: 'The credential as JSON; name secrets of the vault in it',
      },
      {
        displayName: 'On Tool Change',
        name: 'onToolChange',
        type: 'options',
        options: [
          { name: 'Accept', value: 'accept' },
          { name: 'Quarantine Until Approved', value: 'quarantine' },
        ],
        default: 'accept',
        description: 'What happens with tools that are new or changed',
      },
      {
        displayName: 'Transport',
        name: 'transport',
        type: 'options',
        options: [
          { name: 'HTTP', value: 'http' },
          { name: 'Server-Sent Events', value: 'sse' },
          { name: 'WebSocket', value: 'websocket' },
        ],
        default: 'http',
      },
    ],
  },
];

export const oauthLoginProperties: INodeProperties[] = [
  operations('oauthLogin', 'list'),
  tenant(of('oauthLogin', 'list'), false),
  tenant(of('oauthLogin', 'revoke')),
  server(of('oauthLogin', 'revoke')),
];

export const secretProperties: INodeProperties[] = [
  operations('secret', 'set'),
  {
    displayName: 'Shared by All Tenants',
    name: 'shared',
    type: 'boolean',
    default: false,
    description: 'Whether the tools of every tenant may name the secret',
    displayOptions: of('secret', 'set', 'list', 'delete'),
  },
  tenant({ show: { ...of('secret', 'set', 'list', 'delete').show, shared: [false] } }),
  {
    displayName: 'Name',
    name: 'name',
    type: 'string',
    required: true,
    default: '',
    placeholder: 'e.g. SHOP_KEY',
    displayOptions: of('secret', 'set', 'delete'),
  },
  {
    displayName: 'Value',
    name: 'value',
    type: 'string',
    typeOptions: { password: true },
    required: true,
    default: '',
    description: 'Give it by an expression: what is typed here is stored in the workflow as plain text',
    displayOptions: of('secret', 'set'),
  },
  {
    displayName: 'Dry Run',
    name: 'dryRun',
    type: 'boolean',
    default: true,
    description: 'Whether to only tell what would be moved',
    displayOptions: of('secret', 'encrypt'),
  },
];

export const sqlRoleProperties: INodeProperties[] = [
  operations('sqlRole', 'set'),
  {
    displayName: 'Name',
    name: 'name',
    type: 'string',
    required: true,
    default: '',
    placeholder: 'e.g. agent_reader',
    displayOptions: of('sqlRole', 'set'),
  },
  {
    displayName: 'Tables',
    name: 'tables',
    type: 'string',
    typeOptions: { multipleValues: true },
    default: [],
    placeholder: 'e.g. orders',
    description: 'Your own tables that queries may read. Each needs row-level security.',
    displayOptions: of('sqlRole', 'set'),
  },
  {
    displayName: 'Password',
    name: 'password',
    type: 'string',
    typeOptions: { password: true },
    default: '',
    description: 'Empty makes one. The result tells it once, and the execution keeps it as long as n8n keeps its data.',
    displayOptions: of('sqlRole', 'set'),
  },
];
