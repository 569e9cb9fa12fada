import type { INodeProperties } from 'n8n-workflow';

import { of, operations, paging, tenant } from './common';

export const runProperties: INodeProperties[] = [
  operations('run', 'list'),
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

export const auditProperties: INodeProperties[] = [
  operations('audit', 'list'),
  tenant(of('audit', 'list')),
  {
    displayName: 'Task ID',
    name: 'taskId',
    type: 'string',
    default: '',
    description: 'Only the calls of this task. Empty means all of them.',
    displayOptions: of('audit', 'list'),
  },
];

export const approvalProperties: INodeProperties[] = [
  operations('approval', 'list'),
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
  operations('diagnostics', 'summary'),
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
