import type { INodeProperties } from 'n8n-workflow';

import { of, operations, paging, tenant } from './common';

export const runProperties: INodeProperties[] = [
  operations(
    'run',
    [
      { name: 'Get', value: 'get', action: 'Get a run', description: 'Its result, model calls and tool calls' },
      { name: 'List', value: 'list', action: 'List runs', description: 'The runs of a tenant, the newest first' },
    ],
    'list',
  ),
  tenant(of('run', 'get', 'list')),
  {
    displayName: 'Run or Task ID',
    name: 'id',
    type: 'string',
    required: true,
    default: '',
    placeholder: 'e.g. {{ $json.run_id }}',
    displayOptions: of('run', 'get'),
  },
  {
    displayName: 'State',
    name: 'state',
    type: 'options',
    options: [
      { name: 'Any', value: '' },
      { name: 'Done', value: 'done' },
      { name: 'Failed', value: 'failed' },
      { name: 'Running', value: 'running' },
      { name: 'Waiting', value: 'waiting', description: 'For an approval' },
    ],
    default: '',
    displayOptions: of('run', 'list'),
  },
  ...paging(of('run', 'list')),
];

export const approvalProperties: INodeProperties[] = [
  operations(
    'approval',
    [
      {
        name: 'Decide',
        value: 'decide',
        action: 'Decide on an approval',
        description:
          'Approve or deny the tool call and resume the run; not for nodes with connected models, tools or memory',
      },
      { name: 'List', value: 'list', action: 'List approvals', description: 'Tool calls that wait for a decision' },
    ],
    'list',
  ),
  tenant(of('approval', 'list'), false),
  tenant(of('approval', 'decide')),
  {
    displayName: 'Run ID',
    name: 'runId',
    type: 'string',
    required: true,
    default: '={{ $json.run_id }}',
    displayOptions: of('approval', 'decide'),
  },
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
    displayOptions: of('approval', 'decide'),
  },
  {
    displayName: 'User ID',
    name: 'userId',
    type: 'string',
    default: '',
    description: 'Who decides; stands in the audit',
    displayOptions: of('approval', 'decide'),
  },
];

export const diagnosticsProperties: INodeProperties[] = [
  operations(
    'diagnostics',
    [
      {
        name: 'Add Demo Tenant',
        value: 'addDemoTenant',
        action: 'Add a demo tenant',
        description: 'A tenant to try things with',
      },
      {
        name: 'Check Schema',
        value: 'schema',
        action: 'Check the database schema',
        description: 'What is applied and what is missing, and rows that no run could read',
      },
      {
        name: 'Prepare Database',
        value: 'prepareDatabase',
        action: 'Prepare the database',
        description: 'Create the tables, or bring them up to date; safe to repeat',
      },
      {
        name: 'Summary',
        value: 'summary',
        action: 'Get a summary of the installation',
        description: 'HEALTHY, DEGRADED or CRITICAL, with what failed and what to do',
      },
    ],
    'summary',
  ),
  tenant(of('diagnostics', 'summary'), false),
  {
    displayName: 'Tool Server',
    name: 'toolServer',
    type: 'string',
    default: '',
    placeholder: 'e.g. https://n8n.example.com/webhook/demo',
    description: "Where the demo tenant's tools are. Empty is right for the servers of the demo.",
    displayOptions: of('diagnostics', 'addDemoTenant'),
  },
];
