import type { INodeCredentialDescription, INodeProperties } from 'n8n-workflow';

import { callbackOptions } from '../shared/callback-options';

export const credentials: INodeCredentialDescription[] = [
  { name: 'redis', displayName: 'Credential for Redis', required: true },
];

const acknowledge: INodeProperties = {
  displayName: 'Acknowledge',
  name: 'acknowledge',
  type: 'options',
  noDataExpression: true,
  options: [
    {
      name: 'Immediately',
      value: 'immediately',
      description: 'As soon as the execution is started; a task whose execution is lost is lost with it',
    },
    {
      name: 'When Execution Finishes',
      value: 'executionFinishes',
      description:
        'With success or with an error. Executions that are cancelled or lost are started again, as are those that could not reach a database, Redis or a webhook.',
    },
    {
      name: 'When Execution Succeeds',
      value: 'executionSucceeds',
      description: 'After an error that may pass the task is tried again, later and later, up to Attempts times',
    },
  ],
  default: 'executionFinishes',
  description: 'When a task counts as done and leaves the queue',
};

const options: INodeProperties = {
  displayName: 'Options',
  name: 'options',
  type: 'collection',
  placeholder: 'Add Option',
  default: {},
  options: [
    {
      displayName: 'Attempts',
      name: 'attempts',
      type: 'number',
      typeOptions: { minValue: 1, maxValue: 100 },
      default: 8,
      description: 'How often a task is tried before it goes to the Failed List',
    },
    ...callbackOptions,
    {
      displayName: 'Tasks per Tenant at Once',
      name: 'tenantConcurrency',
      type: 'number',
      typeOptions: { minValue: 1 },
      default: 2,
      description: 'How many tasks of one tenant run at a time, over all triggers and workers on the list',
    },
    {
      displayName: 'Timeout Minutes',
      name: 'timeoutMinutes',
      type: 'number',
      typeOptions: { minValue: 1, maxValue: 10080 },
      default: 60,
      description: 'How long to wait for the end of an execution before the task is tried again',
    },
  ],
};

/** Never shown: n8n's list of nodes takes the name of what starts the workflow from an "Event". */
const event: INodeProperties = {
  displayName: 'Event',
  name: 'event',
  type: 'hidden',
  options: [{ name: 'Task From the Queue', value: 'task', action: 'On task from the queue' }],
  default: 'task',
};

/** The parameters of the trigger, in the order of the panel. */
export const properties: INodeProperties[] = [
  event,
  {
    displayName:
      'Each task starts one execution. Connect a <b>Universal AI Agent</b> node with the option <b>Input: Mode</b>: it also writes the answer to where the task says.',
    name: 'taskNotice',
    type: 'notice',
    default: '',
  },
  {
    displayName: 'Task List',
    name: 'taskList',
    type: 'string',
    required: true,
    default: 'elo:tasks:pending',
    description: 'The Redis list that tasks are pushed to, with LPUSH',
  },
  {
    displayName: 'Task Types',
    name: 'taskTypes',
    type: 'multiOptions',
    noDataExpression: true,
    options: [
      { name: 'AI Agent', value: 'ai_agent' },
      { name: 'HTTP Request', value: 'http_request' },
      { name: 'LLM Extraction', value: 'llm_extraction' },
      { name: 'LLM Generation', value: 'llm_generation' },
      { name: 'Webhook Call', value: 'webhook_call' },
    ],
    default: ['ai_agent', 'http_request', 'llm_extraction', 'llm_generation', 'webhook_call'],
    description:
      'Which tasks start this workflow. All others go to the Forward List; without one they also start this workflow, so none is dropped.',
  },
  {
    displayName: 'Forward List',
    name: 'forwardList',
    type: 'string',
    default: '',
    placeholder: 'e.g. elo:tasks:other',
    description:
      'Where tasks of other types go, untouched, for another worker. Without one they start this workflow too, and a type that the node does not know is answered as unknown.',
  },
  {
    displayName: 'Failed List',
    name: 'failedList',
    type: 'string',
    required: true,
    default: 'elo:tasks:failed',
    description: 'Where tasks go that will not be tried again, with the reason',
  },
  {
    displayName: 'Parallel Tasks',
    name: 'parallelTasks',
    type: 'number',
    typeOptions: { minValue: 1, maxValue: 1000 },
    default: 5,
    description: 'How many executions run at a time',
  },
  acknowledge,
  options,
];
