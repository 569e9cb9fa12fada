import type { INodeProperties } from 'n8n-workflow';

import type { Custom, Shown } from './common';

/** The arguments of a call, as its tool has them. */
export const argumentsOfCall: Custom = (shown) => [
  {
    displayName: 'Arguments',
    name: 'argumentFields',
    type: 'resourceMapper',
    noDataExpression: true,
    default: { mappingMode: 'defineBelow', value: null },
    displayOptions: shown,
    typeOptions: {
      loadOptionsDependsOn: ['tenantId.value', 'tool'],
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
];

/** The address of a tool, or with the transport REST the form of its request. */
export const endpoint: Custom = (shown) => [
  {
    displayName: 'Endpoint',
    name: 'endpoint',
    type: 'string',
    default: '',
    placeholder: 'e.g. https://n8n.example.com/webhook/find-orders',
    description: 'The address of the tool. For a tool that is there already, empty leaves it as it is.',
    displayOptions: { ...shown, hide: { transport: ['request'] } },
  },
];

/** Shown with the transport REST. Bodies go with methods that have one. */
export const request: Custom = (shown) => {
  const ofRest = { show: { ...shown.show, transport: ['request'] } };
  return [
    {
      displayName: 'Method',
      name: 'requestMethod',
      type: 'options',
      options: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => ({ name: method, value: method })),
      default: 'GET',
      displayOptions: ofRest,
    },
    {
      displayName: 'URL',
      name: 'requestUrl',
      type: 'string',
      required: true,
      default: '',
      placeholder: 'e.g. https://api.example.com/orders/{number}',
      description: 'An argument of the tool stands in braces',
      displayOptions: ofRest,
    },
    pairs(ofRest, 'Query', 'Arguments that neither URL nor query name go with it too, for GET and DELETE'),
    pairs(
      { show: { ...ofRest.show, requestMethod: ['POST', 'PUT', 'PATCH'] } },
      'Body',
      'Empty means all arguments that neither URL nor query name, as JSON',
    ),
  ];
};

const pairs = (displayOptions: Shown, displayName: string, description: string): INodeProperties => ({
  displayName,
  name: `request${displayName}`,
  type: 'fixedCollection',
  typeOptions: { multipleValues: true },
  placeholder: `Add ${displayName} Field`,
  default: {},
  description,
  displayOptions,
  options: [
    {
      displayName: 'Field',
      name: 'field',
      values: [
        { displayName: 'Name', name: 'name', type: 'string', default: '', placeholder: 'e.g. customer' },
        {
          displayName: 'Value',
          name: 'value',
          type: 'string',
          default: '',
          placeholder: 'e.g. {customer}',
          description: 'A text, in which an argument of the tool stands in braces',
        },
      ],
    },
  ],
});

/** A field for JSON that may stay empty: n8n marks an empty one of the type `json` as an error. */
const jsonText = (field: Pick<INodeProperties, 'displayName' | 'name' | 'placeholder'>): INodeProperties => ({
  ...field,
  type: 'string',
  typeOptions: { rows: 3 },
  default: '',
});

/** The settings of a tenant for a tool. */
export const customConfig: Custom = (displayOptions) => [
  {
    ...jsonText({ displayName: 'Custom Config', name: 'customConfig' }),
    description: "The tenant's own settings for the tool, as JSON. Empty leaves them as they are.",
    displayOptions,
  },
];

/** Rules for a tool, as a form and as JSON. */
export const rules: Custom = (displayOptions) => [
  {
    displayName: 'Rules',
    name: 'rules',
    type: 'collection',
    placeholder: 'Add Rule',
    default: {},
    description: 'Each is laid over the rules that the tool has',
    displayOptions,
    options: [
      {
        displayName: 'Allowed Patterns',
        name: 'allowed_patterns',
        type: 'fixedCollection',
        typeOptions: { multipleValues: true },
        placeholder: 'Add Pattern',
        default: {},
        options: [
          {
            displayName: 'Pattern',
            name: 'of',
            values: [
              argumentName,
              {
                displayName: 'Pattern',
                name: 'pattern',
                type: 'string',
                default: '',
                placeholder: 'e.g. *@example.com',
                description: 'With * and ?, or a regular expression between slashes; of several, each must match',
              },
            ],
          },
        ],
      },
      counted(
        { displayName: 'Calls per Minute', name: 'rate_limit_per_minute', default: 10 },
        'Over all runs of the tenant',
      ),
      counted({ displayName: 'Calls per Run', name: 'max_calls_per_run', default: 1 }),
      {
        displayName: 'Decision',
        name: 'decision',
        type: 'options',
        options: [
          { name: 'Allow', value: 'allow' },
          { name: 'Ask a Person', value: 'ask', description: 'Before each call' },
          { name: 'Deny', value: 'deny', description: 'The tool is not offered' },
        ],
        default: 'ask',
      },
      {
        displayName: 'Fixed Arguments',
        name: 'fixed_arguments',
        type: 'fixedCollection',
        typeOptions: { multipleValues: true },
        placeholder: 'Add Argument',
        default: {},
        options: [
          {
            displayName: 'Argument',
            name: 'of',
            values: [
              argumentName,
              {
                displayName: 'Value',
                name: 'value',
                type: 'string',
                default: '',
                description: 'A text, which the model neither sees nor sets',
              },
            ],
          },
        ],
      },
      {
        displayName: 'Limits of Numbers',
        name: 'limits',
        type: 'fixedCollection',
        typeOptions: { multipleValues: true },
        placeholder: 'Add Limit',
        default: {},
        options: [
          {
            displayName: 'Limit',
            name: 'of',
            values: [
              argumentName,
              { displayName: 'Minimum', name: 'min', type: 'string', default: '', placeholder: 'e.g. 0' },
              { displayName: 'Maximum', name: 'max', type: 'string', default: '', placeholder: 'e.g. 100' },
            ],
          },
        ],
      },
      counted({ displayName: 'Timeout (Seconds)', name: 'timeout_seconds', default: 30 }, 'For each call'),
    ],
  },
  {
    ...jsonText({
      displayName: 'Rules (JSON)',
      name: 'permissions',
      placeholder: '{ "decision": "ask", "max_calls_per_run": 1 }',
    }),
    description:
      'In place of the rules that the tool has; those of the form above are laid over them. Empty leaves them as they are.',
    displayOptions,
  },
];

const argumentName: INodeProperties = {
  displayName: 'Argument',
  name: 'argument',
  type: 'string',
  default: '',
  placeholder: 'e.g. amount',
};

const counted = (
  field: Pick<INodeProperties, 'displayName' | 'name' | 'default'>,
  description?: string,
): INodeProperties => ({ ...field, type: 'number', typeOptions: { minValue: 0 }, description });

/** The arguments of a tool, in one of two ways. */
export const toolArguments: Custom = (shown) => [
  schemaMode(shown),
  fields(shown),
  {
    displayName: 'JSON Schema',
    name: 'parametersSchema',
    type: 'json',
    typeOptions: { rows: 6 },
    default: '{ "type": "object", "properties": {} }',
    displayOptions: { show: { ...shown.show, schemaMode: ['json'] } },
  },
];

const schemaMode = (shown: Shown): INodeProperties => ({
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
  displayOptions: shown,
});

const fields = (shown: Shown): INodeProperties => ({
  displayName: 'Fields',
  name: 'fields',
  type: 'fixedCollection',
  typeOptions: { multipleValues: true },
  placeholder: 'Add Argument',
  default: {},
  displayOptions: { show: { ...shown.show, schemaMode: ['fields'] } },
  options: [
    {
      displayName: 'Field',
      name: 'field',
      values: [
        {
          displayName: 'Name',
          name: 'name',
          type: 'string',
          default: '',
          placeholder: 'e.g. customer',
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
        {
          displayName: 'Description',
          name: 'description',
          type: 'string',
          default: '',
          description: 'What the model should put there',
        },
        {
          displayName: 'Required',
          name: 'required',
          type: 'boolean',
          default: true,
          description: 'Whether the model has to give it',
        },
      ],
    },
  ],
});
