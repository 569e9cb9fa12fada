import type { INodeProperties } from 'n8n-workflow';

import { callbackHosts, callbackKeyPrefixes } from '../../shared/callback-options';
import { mcpServers } from '../read/mcp-servers';

/** Options of one operation only. */
const ofRun = { show: { '/operation': ['run'] } };
/** Only a whole item can carry a callback; the fields have none. */
const ofItemRun = { show: { '/operation': ['run'], '/inputMode': ['item'] } };
const ofEnqueue = { show: { '/operation': ['enqueue'] } };

const outputField: INodeProperties = {
  displayName: 'Output: Field',
  name: 'outputField',
  type: 'string',
  default: 'agent',
  description:
    'The field of the item that holds the result. Set this when its fields would write over others. With Output: Simplify it holds the answer alone.',
};

const includeInputFields: INodeProperties = {
  displayName: 'Output: Include Input Fields',
  name: 'includeInputFields',
  type: 'boolean',
  default: true,
  description:
    'Whether to keep the fields of the incoming item, under those of the result. Set this when later nodes need them, such as the ID of a chat.',
};

/** What most workflows leave as it is. Names are fixed: a task has the same ones in snake case. */
export const options: INodeProperties = {
  displayName: 'Options',
  name: 'options',
  type: 'collection',
  placeholder: 'Add Option',
  default: {},
  displayOptions: { hide: { operation: ['getResult'] } },
  options: [
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
      displayName: 'Limit: Calls per Tool',
      name: 'maxCallsPerTool',
      type: 'number',
      typeOptions: { minValue: 0 },
      default: 3,
      description: 'How often one tool may be called in a run. Lower it for tools that cost money or send messages.',
    },
    {
      displayName: 'Limit: Cost (USD)',
      name: 'maxCostUsd',
      type: 'number',
      typeOptions: { minValue: 0, numberPrecision: 6 },
      default: 1,
      description:
        'What a run may cost. Once it has, no further model call is made. Set this when one run must not eat up the budget of the tenant.',
    },
    {
      displayName: 'Limit: Identical Calls',
      name: 'maxIdenticalCalls',
      type: 'number',
      typeOptions: { minValue: 2 },
      default: 3,
      description:
        'Stop a tool from being called again after this many identical calls with identical results. Raise it for tools that are asked until something is ready.',
    },
    {
      displayName: 'Limit: Iterations',
      name: 'maxIterations',
      type: 'number',
      typeOptions: { minValue: 1, maxValue: 50 },
      default: 10,
      description:
        'How many model calls the agent may make. Raise it for tasks of many steps; a limit in the settings of the tenant wins.',
    },
    {
      displayName: 'Limit: Timeout Seconds',
      name: 'timeoutSeconds',
      type: 'number',
      typeOptions: { minValue: 1 },
      default: 300,
      description: 'When to stop the whole run. Lower it where somebody waits for the answer.',
    },
    {
      displayName: 'Limit: Tool Calls',
      name: 'maxToolCalls',
      type: 'number',
      typeOptions: { minValue: 0 },
      default: 20,
      description: 'How many tool calls a run may make. Set this when tools are slow or cost money.',
    },
    {
      displayName: 'Limit: Total Tokens',
      name: 'maxTotalTokens',
      type: 'number',
      typeOptions: { minValue: 0 },
      default: 100000,
      description:
        'How many tokens a run may use. Once it has, no further model call is made. Set this for models that have no price.',
    },
    {
      displayName: 'Limit: When Iterations Are Used Up',
      name: 'onMaxIterations',
      type: 'options',
      options: [
        { name: 'Ask for a Final Answer', value: 'finalAnswer', description: 'One more model call, without tools' },
        { name: 'Fail', value: 'error' },
        { name: 'Return What There Is', value: 'partial' },
      ],
      default: 'error',
      description:
        'What to do when the agent has used all its iterations without an answer. Ask for one where somebody waits for it.',
    },
    {
      displayName: 'Model: Max Tokens',
      name: 'maxTokens',
      type: 'number',
      typeOptions: { minValue: 1 },
      default: 1000,
      description:
        'How many tokens one reply of the model may have. Raise it when answers are cut off; without it the tier decides.',
    },
    {
      displayName: 'Model: Override Name or ID',
      name: 'modelOverride',
      type: 'options',
      typeOptions: { loadOptionsMethod: 'getModels' },
      default: '',
      description:
        'Another model than the one of the tier, within what the tenant may use. Choose from the list, or specify an ID using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
    },
    {
      displayName: 'Model: Silence Seconds',
      name: 'modelSilenceSeconds',
      type: 'number',
      typeOptions: { minValue: 1 },
      default: 120,
      description:
        'How long the model may send nothing, before its reply and within it. Raise it for models that think long; without it tenant and tier decide.',
    },
    {
      displayName: 'Model: Temperature',
      name: 'temperature',
      type: 'number',
      typeOptions: { minValue: 0, maxValue: 2, numberPrecision: 2 },
      default: 0.7,
      description:
        'How freely the model answers. Lower it for answers that must be the same each time; without it the tier decides.',
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
    {
      displayName: 'Output: Include Trace',
      name: 'includeTrace',
      type: 'boolean',
      default: true,
      description:
        'Whether to add a list of every model call and tool call with its time and cost. Turn it off when many items pass.',
    },
    {
      displayName: 'Output: Record Usage',
      name: 'recordUsage',
      type: 'boolean',
      default: true,
      description: 'Whether to write a line to the bill of the tenant. Turn it off for tests of your own.',
    },
    {
      displayName: 'Output: Simplify',
      name: 'simplifyOutput',
      type: 'boolean',
      default: false,
      description:
        'Whether to put only the answer into the item, as the AI Agent node does. Set this when a node behind takes the whole item, such as a table.',
      displayOptions: ofRun,
    },
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
    {
      displayName: 'Tools: Block Names or IDs',
      name: 'disabledTools',
      type: 'multiOptions',
      typeOptions: { loadOptionsMethod: 'getTenantTools', loadOptionsDependsOn: ['tenantId'] },
      default: [],
      description:
        'Never these tools, whatever else allows them. Set this where a tool would be dangerous. Choose from the list, or specify IDs using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
    },
    {
      displayName: 'Tools: Choice',
      name: 'toolChoice',
      type: 'options',
      options: [
        { name: 'Auto', value: 'auto', description: 'The model decides' },
        { name: 'None', value: 'none', description: 'The model must not call tools' },
        { name: 'Required', value: 'required', description: 'The first reply must call a tool' },
      ],
      default: 'auto',
      description: 'Whether the model may or must call tools. Require it when an answer without them would be a guess.',
    },
    {
      displayName: 'Tools: Execution',
      name: 'toolExecution',
      type: 'options',
      options: [
        { name: 'One Tool per Step', value: 'single', description: 'Only the first call of a reply is made' },
        { name: 'Parallel', value: 'parallel' },
        { name: 'Sequential', value: 'sequential', description: 'In the order in which the model asked' },
      ],
      default: 'parallel',
      description:
        'How the tool calls of one reply are made. Choose Sequential when one depends on what another has changed.',
    },
    { ...mcpServers, displayName: 'Tools: MCP Servers', displayOptions: ofRun },
    {
      displayName: 'Tools: Offer Only Names or IDs',
      name: 'tools',
      type: 'multiOptions',
      typeOptions: { loadOptionsMethod: 'getTenantTools', loadOptionsDependsOn: ['tenantId'] },
      default: [],
      description:
        'Only these tools of the tenant; an empty list means none. Set this when the task needs few of them. Choose from the list, or specify IDs using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
    },
    {
      displayName: 'Tools: Permissions',
      name: 'toolPermissions',
      type: 'json',
      default: '{}',
      placeholder: '{ "send_message": { "decision": "ask", "max_calls_per_run": 1 } }',
      description:
        'Rules for tools by name: limits, patterns, a person who is asked. They can only narrow what tenant and tier allow.',
    },
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
  ],
};

/** Under the same name, so that each operation reads its options alike. */
export const resultOptions: INodeProperties = {
  displayName: 'Options',
  name: 'options',
  type: 'collection',
  placeholder: 'Add Option',
  default: {},
  displayOptions: { show: { operation: ['getResult'] } },
  options: [callbackKeyPrefixes, outputField, includeInputFields],
};
