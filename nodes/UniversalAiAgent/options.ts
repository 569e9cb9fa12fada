import type { INodeProperties } from 'n8n-workflow';

import { mcpServers } from './mcp-servers';

/** What most workflows leave as it is. Names are fixed: a task has the same ones in snake case. */
export const options: INodeProperties = {
  displayName: 'Options',
  name: 'options',
  type: 'collection',
  placeholder: 'Add Option',
  default: {},
  options: [
    {
      displayName: 'Include Trace',
      name: 'includeTrace',
      type: 'boolean',
      default: true,
      description: 'Whether to add a list of every model call and tool call with its time and cost',
    },
    {
      displayName: 'Max Iterations',
      name: 'maxIterations',
      type: 'number',
      typeOptions: { minValue: 1, maxValue: 50 },
      default: 10,
      description: 'How many model calls the agent may make. A limit in the settings of the tenant wins.',
    },
    {
      displayName: 'Max Tokens',
      name: 'maxTokens',
      type: 'number',
      typeOptions: { minValue: 1 },
      default: 1000,
      description: 'How many tokens one reply of the model may have. Without it the tier decides.',
    },
    mcpServers,
    {
      displayName: 'Model Override',
      name: 'modelOverride',
      type: 'string',
      default: '',
      placeholder: 'e.g. openai/gpt-4o-mini',
      description: 'Another model than the one of the tier, within what the tenant may use',
    },
    {
      displayName: 'On Max Iterations',
      name: 'onMaxIterations',
      type: 'options',
      options: [
        { name: 'Ask for a Final Answer', value: 'finalAnswer', description: 'One more model call, without tools' },
        { name: 'Fail', value: 'error' },
        { name: 'Return What There Is', value: 'partial' },
      ],
      default: 'error',
      description: 'What to do when the agent has used all its iterations without an answer',
    },
    {
      displayName: 'Record Usage',
      name: 'recordUsage',
      type: 'boolean',
      default: true,
      description: 'Whether to write a line to the token usage table of the tenant',
    },
    {
      displayName: 'Temperature',
      name: 'temperature',
      type: 'number',
      typeOptions: { minValue: 0, maxValue: 2, numberPrecision: 2 },
      default: 0.7,
      description: 'How freely the model answers. Without it the tier decides.',
    },
    {
      displayName: 'Timeout Seconds',
      name: 'timeoutSeconds',
      type: 'number',
      typeOptions: { minValue: 1 },
      default: 300,
      description: 'When to stop the whole run',
    },
    {
      displayName: 'Tool Choice',
      name: 'toolChoice',
      type: 'options',
      options: [
        { name: 'Auto', value: 'auto', description: 'The model decides' },
        { name: 'None', value: 'none', description: 'The model must not call tools' },
        { name: 'Required', value: 'required', description: 'The first reply must call a tool' },
      ],
      default: 'auto',
      description: 'Whether the model may or must call tools',
    },
    {
      displayName: 'Tool Execution',
      name: 'toolExecution',
      type: 'options',
      options: [
        { name: 'One Tool per Step', value: 'single', description: 'Only the first call of a reply is made' },
        { name: 'Parallel', value: 'parallel' },
        { name: 'Sequential', value: 'sequential', description: 'In the order in which the model asked' },
      ],
      default: 'parallel',
      description: 'How the tool calls of one reply are made',
    },
    {
      displayName: 'Tool Names or IDs',
      name: 'tools',
      type: 'multiOptions',
      typeOptions: { loadOptionsMethod: 'getTenantTools', loadOptionsDependsOn: ['tenantId'] },
      default: [],
      description:
        'Only these tools of the tenant; an empty list means none. Choose from the list, or specify IDs using an <a href="https://docs.n8n.io/code/expressions/">expression</a>.',
    },
  ],
};
