import type { INodeProperties } from 'n8n-workflow';

import { callbackHosts, callbackKeyPrefixes } from '../../shared/callback-options';
import { identity } from '../../shared/panel/identity';
import { providerOption } from '../../shared/panel/provider';
import { mcpServers } from '../read/mcp-servers';
import { taskOptions } from './task-options.generated';

/** Options of one operation only. */
const ofRun = { show: { '/operation': ['run'] } };
/** Only a whole item can carry a callback; the fields have none. */
const ofItemRun = { show: { '/operation': ['run'], inputMode: ['item'] } };
const unlessItem = { hide: { inputMode: ['item'] } };
const ofEnqueue = { show: { '/operation': ['enqueue'] } };

const outputField: INodeProperties = {
  displayName: 'Output: Field',
  name: 'outputField',
  type: 'string',
  default: 'agent',
  description:
    'The field of the item that holds the result, or the answer where the item holds no more. Set this when its fields would write over others.',
};

const includeInputFields: INodeProperties = {
  displayName: 'Output: Include Input Fields',
  name: 'includeInputFields',
  type: 'boolean',
  default: true,
  description:
    'Whether to keep the fields of the incoming item, under those of the result. Set this when later nodes need them, such as the ID of a chat.',
};

const outputDetails: INodeProperties = {
  displayName: 'Output: Details',
  name: 'outputDetails',
  type: 'options',
  noDataExpression: true,
  options: [
    {
      name: 'Always',
      value: 'always',
      description: 'The answer, its steps, tokens and cost, also where a customer can read them in the browser',
    },
    {
      name: 'Auto',
      value: 'auto',
      description: 'In a workflow that a chat has started the answer alone, elsewhere with its steps, tokens and cost',
    },
    { name: 'Never', value: 'never', description: 'The answer alone, as the AI Agent node puts it out' },
  ],
  default: 'auto',
  description:
    'Whether the item holds more than the answer. Choose Never in a sub-workflow of a chat, and where a later node takes the whole item, such as a table.',
};

const customerMessages: INodeProperties = {
  displayName: 'Output: Customer Messages',
  name: 'customerMessages',
  type: 'json',
  default: '{}',
  placeholder: '{ "budget_exceeded": "We will answer tomorrow.", "failed": "Please call us." }',
  description:
    'What a customer reads in place of an answer, by error code or status. The setting customer_messages of the tenant comes first; without both it is a neutral sentence in the language of the tenant.',
};

/** Options that are no part of a task. */
const ownOptions: INodeProperties[] = [
  {
    ...providerOption('Where the models of the tiers are. A connected chat model answers in their place.'),
    displayName: 'Model: Provider',
    displayOptions: ofRun,
  },
  {
    displayName: 'Input: Items at Once',
    name: 'itemsAtOnce',
    type: 'number',
    noDataExpression: true,
    typeOptions: { minValue: 1, maxValue: 50 },
    default: 5,
    description:
      'How many items are run at the same time; results keep the order of the items. Without it one after the other, as always while an answer is streamed.',
  },
  {
    displayName: 'Input: Mode',
    name: 'inputMode',
    type: 'options',
    noDataExpression: true,
    options: [
      { name: 'Fields of the Node', value: 'fields' },
      {
        name: 'Whole Item Is the Task',
        value: 'item',
        description: 'The incoming item has the shape {task_id, config, meta}, as the task queue has it',
      },
    ],
    default: 'item',
    description: 'Where the task is. Set this for tasks that come from the trigger or from another program.',
  },
  {
    displayName: 'Input: Context',
    name: 'context',
    type: 'json',
    // Not empty: n8n's editor marks empty JSON as an error.
    default: '{}',
    placeholder: 'e.g. {"client_id": "123"}',
    description: 'Facts for the model, as JSON. They stand in a marked block before the message.',
    displayOptions: unlessItem,
  },
  { ...identity, displayOptions: unlessItem },
  {
    displayName: 'Queue: Use Redis',
    name: 'useRedis',
    type: 'boolean',
    noDataExpression: true,
    default: true,
    description:
      'Whether to answer the callbacks of tasks, to offer redis_get, and to share the rate limits of tools with other processes. Set this when tasks come from the trigger.',
    displayOptions: ofRun,
  },
  { ...callbackHosts, displayOptions: ofItemRun },
  { ...callbackKeyPrefixes, displayOptions: ofItemRun },
  { ...callbackKeyPrefixes, displayOptions: ofEnqueue },
  {
    displayName: 'Callback: Write',
    name: 'writeCallback',
    type: 'boolean',
    default: true,
    description:
      'Whether to write the answer to where the callback of a task says: result, counter, status and webhook. Tasks without a callback are not concerned.',
    displayOptions: ofItemRun,
  },
  {
    displayName: 'Output: Enable Streaming',
    name: 'enableStreaming',
    type: 'boolean',
    noDataExpression: true,
    default: true,
    description:
      'Whether to show the answer while the model writes it, where the trigger streams. Turn it off when the answer must come as a whole.',
    displayOptions: ofRun,
  },
  outputField,
  includeInputFields,
  { ...outputDetails, displayOptions: ofRun },
  { ...customerMessages, displayOptions: ofRun },
  {
    displayName: 'Output: Stream Tool Progress',
    name: 'streamToolProgress',
    type: 'boolean',
    noDataExpression: true,
    default: true,
    description:
      'Whether to tell a chat that streams which tool is called, each in a line of its own. Set this when tools are slow.',
    displayOptions: ofRun,
  },
  {
    displayName: 'Queue: Priority',
    name: 'priority',
    type: 'number',
    typeOptions: { minValue: 1 },
    default: 1,
    description:
      'Set this when other tasks should go first: those with a lower number do. Tasks without a priority go before all others.',
    displayOptions: ofEnqueue,
  },
  {
    displayName: 'Queue: Result Key',
    name: 'resultKey',
    type: 'string',
    default: '',
    placeholder: 'e.g. elo:results:trace-1',
    description:
      'The Redis key for the answer. Set this when another program waits on a key of its choice; without it the task has its own.',
    displayOptions: ofEnqueue,
  },
  {
    displayName: 'Queue: Task List',
    name: 'taskList',
    type: 'string',
    default: 'elo:tasks:pending',
    description: 'The Redis list to push the task to. Set this when your workers read another list.',
    displayOptions: ofEnqueue,
  },
  { ...mcpServers, displayName: 'Tools: MCP Servers', displayOptions: ofRun },
  {
    displayName: 'Tools: SQL Role',
    name: 'useSqlRole',
    type: 'boolean',
    noDataExpression: true,
    default: true,
    description:
      'Whether to offer the tool sql_query, with the credential of its read-only role. Set this when agents are to ask the database of a tenant.',
    displayOptions: ofRun,
  },
  {
    displayName: 'Tools: Vault Key',
    name: 'useVaultKey',
    type: 'boolean',
    noDataExpression: true,
    default: true,
    description:
      'Whether to open sealed secrets and logins with a vault key. Set this when tools or MCP servers name a secret of the vault.',
    displayOptions: ofRun,
  },
  {
    displayName: 'Tools: Approval',
    name: 'approval',
    type: 'fixedCollection',
    placeholder: 'Add Decision',
    default: {},
    description:
      'A decision on a tool call that an earlier run waits for. Set this in the workflow that goes on with it.',
    options: [
      {
        displayName: 'Decision',
        name: 'decide',
        values: [
          {
            displayName: 'Decision',
            name: 'decision',
            type: 'options',
            options: [
              { name: 'Approve', value: 'approve' },
              { name: 'Deny', value: 'deny' },
            ],
            default: 'approve',
            description: 'Whether the tool call may be made',
          },
          {
            displayName: 'Run ID',
            name: 'runId',
            type: 'string',
            default: '',
            placeholder: 'e.g. {{ $json.run_id }}',
            description: 'The run_id of the result whose status was awaiting_input. Empty means that nothing waits.',
          },
        ],
      },
    ],
  },
];

/** The first words of the options, in the order of the list. */
const GROUPS = ['Model', 'Plan', 'Tools', 'Limit', 'Output', 'Input', 'Queue', 'Callback'];
const groupOf = ({ displayName }: INodeProperties): number => GROUPS.indexOf(displayName.split(':')[0] as string);

/** Settings that most workflows keep. */
export const options: INodeProperties = {
  displayName: 'Options',
  name: 'options',
  type: 'collection',
  placeholder: 'Add Option',
  default: {},
  displayOptions: { hide: { operation: ['getResult'] } },
  options: [...ownOptions, ...taskOptions].sort((one, other) => groupOf(one) - groupOf(other)),
};

/** Under the same name, so that each operation reads its options alike. */
export const resultOptions: INodeProperties = {
  displayName: 'Options',
  name: 'options',
  type: 'collection',
  placeholder: 'Add Option',
  default: {},
  displayOptions: { show: { operation: ['getResult'] } },
  options: [callbackKeyPrefixes, outputField, includeInputFields, outputDetails, customerMessages],
};
