import type { INodeCredentialDescription, INodeProperties, NodeParameterValue } from 'n8n-workflow';

import { agentField, tenantField, tierField } from '../../shared/panel/tenant-fields';
import { options, resultOptions } from './options';

/** Offered with the option that needs them. A list of servers may use each of them more than once. */
const isSet = [{ _cnd: { exists: true } }] as unknown as NodeParameterValue[];
const ofMcpServers = { show: { 'options.mcpServers': isSet } };

/** `hide`, not `show`: an option is absent until somebody adds it. */
const unlessItem = { 'options.inputMode': ['item'] };

const ofRun = { show: { operation: ['run'] } };
const ofEnqueue = { show: { operation: ['enqueue'] } };
const ofGetResult = { show: { operation: ['getResult'] } };
const ofFields = { show: { operation: ['run', 'enqueue'] }, hide: unlessItem };
const ofRunFields = { ...ofRun, hide: unlessItem };
const ofEnqueueFields = { ...ofEnqueue, hide: unlessItem };

const otherOperations = ['enqueue', 'getResult'];
export const notOther = { hide: { operation: otherOperations } };

const ofVaultKey = { show: { 'options.useVaultKey': [true] }, ...notOther };
const ofSqlRole = { show: { 'options.useSqlRole': [true] }, ...notOther };

/**
 * Credentials that n8n already has. Redis is required by two operations and by a switch of the third, which n8n cannot be
 * told. Nor does it see what is connected: a chat model takes the place of the provider's credential, so neither of these
 * is required.
 */
export const credentials: INodeCredentialDescription[] = [
  {
    name: 'openRouterApi',
    displayName: 'Credential for OpenRouter (or Connect a Model)',
    displayOptions: { hide: { 'options.modelProvider': ['openAiCompatible'], ...notOther.hide } },
  },
  {
    name: 'openAiApi',
    displayName: 'Credential for the Model Provider',
    displayOptions: { show: { 'options.modelProvider': ['openAiCompatible'] }, ...notOther },
  },
  { name: 'postgres', displayName: 'Credential for Postgres', required: true, displayOptions: notOther },
  {
    name: 'universalAiAgentVaultApi',
    displayName: 'Vault Key',
    required: true,
    testedBy: 'testVaultKey',
    displayOptions: ofVaultKey,
  },
  {
    name: 'universalAiAgentSqlApi',
    displayName: 'Role for SQL Queries',
    required: true,
    testedBy: 'testSqlRole',
    displayOptions: ofSqlRole,
  },
  { name: 'redis', displayName: 'Credential for Redis', displayOptions: { show: { 'options.useRedis': [true] } } },
  { name: 'httpBearerAuth', displayName: 'Bearer for MCP Servers', displayOptions: ofMcpServers },
  { name: 'httpHeaderAuth', displayName: 'Header for MCP Servers', displayOptions: ofMcpServers },
  { name: 'mcpOAuth2Api', displayName: 'OAuth2 for MCP Servers', displayOptions: ofMcpServers },
];

/**
 * Shows the credential for Redis to the operations that have no such option: all conditions of a credential have to hold,
 * and here one of two does. n8n looks for a parameter of this very name before it takes the name for a path. It has no
 * options, or the editor would take it for the node's authentication (ADR 1).
 */
const alwaysRedis: INodeProperties = {
  displayName: 'Use Redis',
  name: 'options.useRedis',
  type: 'hidden',
  default: true,
  displayOptions: { show: { operation: otherOperations } },
};

/** No tenant, or an expression. */
const isUnknown = ['', { _cnd: { startsWith: '=' } }] as unknown as NodeParameterValue[];

const asksDatabase = { loadOptionsMethod: 'showTenantTools', loadOptionsDependsOn: ['tenantId.value'] };

/** A line to read: the list has one entry, which names the tools. Nothing is chosen, so it is no "Name or ID". */
const tenantTools: INodeProperties = {
  displayName: 'Tools of the Tenant',
  name: 'tenantTools',
  type: 'options',
  noDataExpression: true,
  typeOptions: asksDatabase,
  default: '',
  description: 'What the tenant has, to look at. Tools: Offer Only, under Options, offers fewer.',
  displayOptions: { ...ofRun, hide: { ...unlessItem, tenantId: isUnknown } },
};

const tenant = tenantField('The tenant whose tools, limits and bill apply', '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f');

const agent: INodeProperties = {
  ...agentField('An agent of the tenant, with its prompt, model, tools and limits. Values below take precedence.'),
  displayOptions: ofRunFields,
};

/** The parameters of the node, in the order of the panel. */
export const properties: INodeProperties[] = [
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    // The list of actions has this order: what most want comes first.
    options: [
      {
        name: 'Run Task',
        value: 'run',
        action: 'Ask the agent',
        description: 'Run the agent now, and give its answer',
      },
      {
        name: 'Enqueue Task',
        value: 'enqueue',
        action: 'Enqueue a task',
        description: 'Push the task to a Redis list, for the trigger or a worker to run',
      },
      {
        name: 'Get Result',
        value: 'getResult',
        action: 'Get the result of a task',
        description: 'Wait for the result of a task that was pushed to the list',
      },
    ],
    default: 'run',
  },
  // Where the editor shows the credentials: the list of tenants needs one of them.
  { displayName: 'Credentials', name: 'credentials', type: 'credentials', default: '' },
  alwaysRedis,
  {
    displayName:
      'The task is pushed to a Redis list. A workflow with the <b>Universal AI Agent Trigger</b>, or <code>universal-ai-agent worker</code>, takes it from there.',
    name: 'queueNotice',
    type: 'notice',
    default: '',
    displayOptions: ofEnqueue,
  },
  {
    displayName:
      'The item must hold <code>config.message</code> and <code>meta.tenant_id</code>. Options below fill in what its config leaves open. With a <code>callback</code> the answer is also written to where it says.',
    name: 'itemNotice',
    type: 'notice',
    default: '',
    displayOptions: { show: { operation: ['run', 'enqueue'], 'options.inputMode': ['item'] } },
  },
  { ...tenant, displayOptions: ofRunFields },
  // Without the list, which needs the Postgres credential.
  { ...tenant, default: { mode: 'id', value: '' }, displayOptions: ofEnqueueFields, modes: tenant.modes?.slice(1) },
  tenantTools,
  agent,
  // Without the list, which needs the Postgres credential.
  { ...agent, default: { mode: 'name', value: '' }, displayOptions: ofEnqueueFields, modes: agent.modes?.slice(1) },
  { ...tierField, displayOptions: ofFields },
  {
    displayName: 'Source for Prompt (User Message)',
    name: 'promptType',
    type: 'options',
    noDataExpression: true,
    options: [
      {
        name: 'Connected Chat Trigger Node',
        value: 'auto',
        description: "Takes the field 'chatInput' that a chat trigger before this node gives",
      },
      {
        name: 'Define Below',
        value: 'define',
        description: 'Write the message, or take it from other nodes with an expression',
      },
    ],
    default: 'define',
    displayOptions: ofFields,
  },
  {
    displayName: 'Message',
    name: 'message',
    type: 'string',
    typeOptions: { rows: 2 },
    required: true,
    default: '={{ $json.chatInput }}',
    placeholder: 'e.g. Find all orders of client X',
    description: 'What the agent should do or answer',
    displayOptions: { ...ofFields, show: { ...ofFields.show, promptType: ['define'] } },
  },
  {
    displayName: 'System Prompt',
    name: 'systemPrompt',
    type: 'string',
    typeOptions: { rows: 3 },
    default: '',
    placeholder: 'e.g. You are the assistant of a shop for bicycle parts.',
    description: 'Who the agent is and how it should answer',
    displayOptions: ofFields,
  },
  {
    displayName: 'Mode',
    name: 'mode',
    type: 'options',
    options: [
      {
        name: 'Auto',
        value: 'auto',
        description: 'A plan for what takes several steps, else as Direct',
      },
      { name: 'Direct', value: 'direct', description: 'One model that calls tools until it can answer' },
      {
        name: 'Plan',
        value: 'plan',
        description:
          'A plan for whatever needs a tool: each step is done by itself, and a supervisor judges its result',
      },
    ],
    default: 'direct',
    description: 'Whether the agent makes a plan first and follows it step by step',
    displayOptions: ofFields,
  },
  {
    displayName: 'Session ID',
    name: 'sessionId',
    type: 'string',
    default: '',
    placeholder: 'e.g. {{ $json.sessionId }}',
    description:
      'The conversation that the message belongs to: the agent remembers what was said in it, without a Memory. Each tenant and each agent has its own.',
    displayOptions: ofFields,
  },
  {
    displayName: 'Result Key',
    name: 'resultKey',
    type: 'string',
    required: true,
    default: '={{ $json.result_key }}',
    placeholder: 'e.g. elo:results:trace-1',
    description: 'The Redis key that the task was told to be answered on',
    displayOptions: ofGetResult,
  },
  {
    displayName: 'Task ID',
    name: 'taskId',
    type: 'string',
    default: '={{ $json.task_id }}',
    description: 'Which of the results under the key. Empty means the newest one.',
    displayOptions: ofGetResult,
  },
  {
    displayName: 'Wait Seconds',
    name: 'waitSeconds',
    type: 'number',
    typeOptions: { minValue: 0 },
    default: 60,
    description: 'How long to wait for the result. After that the item fails; the result stays where it is.',
    displayOptions: ofGetResult,
  },
  {
    displayName: 'Require Specific Output Format',
    name: 'hasOutputParser',
    type: 'boolean',
    noDataExpression: true,
    default: false,
    description:
      'Whether the answer must have the form that a JSON Schema below or a connected output parser asks for. An answer of another form is asked for once more, then the item fails.',
    displayOptions: ofRunFields,
  },
  {
    displayName: 'Output Schema',
    name: 'outputSchema',
    type: 'json',
    typeOptions: { rows: 6 },
    default: '',
    placeholder: '{ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] }',
    description: 'JSON Schema of the answer. Empty means that the connected output parser decides.',
    displayOptions: { ...ofRunFields, show: { ...ofRun.show, hasOutputParser: [true] } },
  },
  options,
  resultOptions,
];
