import type { INodeProperties } from 'n8n-workflow';

import { of, operations, paging, tenant } from './common';

/** Operations that may create a tool; then those that write one. */
const ofNew = of('tool', 'create', 'set');
const ofEither = of('tool', 'create', 'set', 'update');

const transports = [
  { name: 'Built-In', value: 'builtin', description: 'A tool that comes with this package' },
  { name: 'Hook', value: 'hook', description: 'An address that gets the call as JSON, such as an n8n webhook' },
  { name: 'MCP', value: 'mcp', description: 'One tool of an MCP server' },
  { name: 'REST', value: 'rest', description: 'Any REST API; Transport Config says how it is called' },
  { name: 'Workflow', value: 'workflow', description: 'An n8n workflow behind a webhook' },
];
const transport: INodeProperties = {
  displayName: 'Transport',
  name: 'transport',
  type: 'options',
  options: transports,
  default: 'hook',
  description: 'How the tool is reached',
};

const schemaMode: INodeProperties = {
  displayName: 'Arguments',
  name: 'schemaMode',
  type: 'options',
  noDataExpression: true,
  options: [
    {
      name: 'From Fields Below',
      value: 'fields',
      description: 'Name each argument; the JSON Schema is made from them',
    },
    { name: 'JSON Schema', value: 'json', description: 'Paste a JSON Schema' },
    { name: 'None or Unchanged', value: 'none' },
  ],
  default: 'fields',
  description: 'How to say what the model has to give to the tool',
  displayOptions: ofEither,
};

const fields: INodeProperties = {
  displayName: 'Fields',
  name: 'fields',
  type: 'fixedCollection',
  typeOptions: { multipleValues: true },
  placeholder: 'Add Field',
  default: {},
  displayOptions: { show: { ...ofEither.show, schemaMode: ['fields'] } },
  options: [
    {
      displayName: 'Field',
      name: 'field',
      values: [
        {
          displayName: 'Description',
          name: 'description',
          type: 'string',
          default: '',
          description: 'What the model should put there',
        },
        {
          displayName: 'Name',
          name: 'name',
          type: 'string',
          default: '',
          placeholder: 'e.g. customer',
        },
        {
          displayName: 'Required',
          name: 'required',
          type: 'boolean',
          default: true,
          description: 'Whether the model has to give it',
        },
        {
          displayName: 'Type',
          name: 'type',
          type: 'options',
          options: [
            { name: 'Array', value: 'array' },
            { name: 'Boolean', value: 'boolean' },
            { name: 'Integer', value: 'integer' },
            { name: 'Number', value: 'number' },
            { name: 'Object', value: 'object' },
            { name: 'Text', value: 'string' },
          ],
          default: 'string',
        },
      ],
    },
  ],
};

const more: INodeProperties = {
  displayName: 'Additional Fields',
  name: 'additionalFields',
  type: 'collection',
  placeholder: 'Add Field',
  default: {},
  displayOptions: ofEither,
  options: [
    {
      displayName: 'Active',
      name: 'isActive',
      type: 'boolean',
      default: true,
      description: 'Whether tenants that have the tool are offered it',
    },
    {
      displayName: 'Authorization Header',
      name: 'authHeader',
      type: 'string',
      default: '',
      placeholder: 'e.g. Bearer vault:SHOP_KEY',
      description: 'What is sent as the Authorization header. Name a secret of the vault with vault:NAME.',
    },
    {
      displayName: 'Display Name',
      name: 'name',
      type: 'string',
      default: '',
      description: 'What people call the tool; the model knows its code',
    },
    {
      displayName: 'MCP Tool',
      name: 'mcpTool',
      type: 'string',
      default: '',
      description: 'The name of the tool on its MCP server, where it differs from the code',
    },
    {
      displayName: 'Tier Names or IDs',
      name: 'allowedTiers',
      type: 'multiOptions',
      typeOptions: { loadOptionsMethod: 'getTiers' },
      default: [],
      description:
        'The tiers that may use the tool; without this field all of them may. Choose from the list, or specify IDs using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
    },
    {
      displayName: 'Timeout (Milliseconds)',
      name: 'timeoutMs',
      type: 'number',
      typeOptions: { minValue: 1 },
      default: 30000,
      description: 'How long a call may take',
    },
    {
      displayName: 'Transport Config',
      name: 'transportConfig',
      type: 'json',
      default: '{}',
      description: 'How a REST API or a built-in tool is called, as JSON (see the documentation on tools)',
    },
  ],
};

export const toolProperties: INodeProperties[] = [
  operations('tool', 'create'),
  tenant(of('tool', 'enable', 'disable', 'setLimits', 'execute')),
  tenant(of('tool', 'list'), false),
  {
    displayName: 'Code',
    name: 'code',
    type: 'string',
    required: true,
    default: '',
    placeholder: 'e.g. find_orders',
    description: 'What the model calls the tool: letters, digits, _ and -, at most 50',
    displayOptions: ofNew,
  },
  {
    displayName: 'Tool Name or ID',
    name: 'code',
    type: 'options',
    typeOptions: { loadOptionsMethod: 'getTools' },
    required: true,
    default: '',
    description:
      'The tool of the catalogue. Choose from the list, or specify an ID using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
    displayOptions: of('tool', 'update', 'delete', 'enable', 'disable', 'setLimits'),
  },
  {
    displayName: 'Tool Name or ID',
    name: 'tool',
    type: 'options',
    typeOptions: { loadOptionsMethod: 'getTenantTools', loadOptionsDependsOn: ['tenantId'] },
    required: true,
    default: '',
    description:
      'A tool that the tenant has. Choose from the list, or specify an ID using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
    displayOptions: of('tool', 'execute'),
  },
  {
    displayName: 'Description',
    name: 'description',
    type: 'string',
    typeOptions: { rows: 2 },
    default: '',
    placeholder: 'e.g. Find the orders of a customer',
    description: 'The model decides by it when to call the tool',
    displayOptions: ofEither,
  },
  { ...transport, displayOptions: of('tool', 'create') },
  {
    ...transport,
    options: [{ name: 'Unchanged, or Hook', value: '' }, ...transports],
    default: '',
    displayOptions: of('tool', 'set'),
  },
  {
    displayName: 'Endpoint',
    name: 'endpoint',
    type: 'string',
    default: '',
    placeholder: 'e.g. https://n8n.example.com/webhook/find-orders',
    description: 'The address of the tool. For a tool that is there already, empty leaves it as it is.',
    displayOptions: ofEither,
  },
  schemaMode,
  fields,
  {
    displayName: 'JSON Schema',
    name: 'parametersSchema',
    type: 'json',
    typeOptions: { rows: 6 },
    default: '{ "type": "object", "properties": {} }',
    displayOptions: { show: { ...ofEither.show, schemaMode: ['json'] } },
  },
  {
    displayName: 'Enable for Tenant (Optional)',
    name: 'enableFor',
    type: 'resourceLocator',
    default: { mode: 'list', value: '' },
    description: 'A tenant that gets the tool at once',
    displayOptions: ofNew,
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
  more,
  {
    displayName: 'Custom Config',
    name: 'customConfig',
    type: 'json',
    default: '',
    description: "The tenant's own settings for the tool, as JSON. Empty leaves them as they are.",
    displayOptions: of('tool', 'enable'),
  },
  {
    displayName: 'Calls a Day',
    name: 'dailyLimit',
    type: 'number',
    typeOptions: { minValue: 0 },
    default: 100,
    description: 'How often the tenant may call the tool in a day',
    displayOptions: of('tool', 'setLimits'),
  },
  {
    displayName: 'Permissions',
    name: 'permissions',
    type: 'json',
    default: '',
    placeholder: '{ "decision": "ask", "max_calls_per_run": 1 }',
    description: 'Rules for the tool, as JSON. Empty leaves them as they are.',
    displayOptions: of('tool', 'setLimits'),
  },
  {
    displayName: 'Arguments',
    name: 'argumentFields',
    type: 'resourceMapper',
    noDataExpression: true,
    default: { mappingMode: 'defineBelow', value: null },
    displayOptions: of('tool', 'execute'),
    typeOptions: {
      loadOptionsDependsOn: ['tenantId', 'tool'],
      resourceMapper: {
        resourceMapperMethod: 'getToolArguments',
        mode: 'map',
        valuesLabel: 'Arguments',
        fieldWords: { singular: 'argument', plural: 'arguments' },
        addAllFields: true,
        supportAutoMap: false,
      },
    },
  },
  ...paging(of('tool', 'list')),
  {
    displayName: 'Update',
    name: 'update',
    type: 'boolean',
    default: false,
    description: 'Whether tools that are there are set to how they come, but for their credentials and time-outs',
    displayOptions: of('tool', 'addBuiltIn'),
  },
];
