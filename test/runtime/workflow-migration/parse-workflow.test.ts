import { parseWorkflow } from '../../../runtime/workflow-migration/parse-workflow';

const node = {
  id: 'a',
  name: 'Start',
  type: 'n8n-nodes-base.manualTrigger',
  typeVersion: 1,
  position: [0, 0],
  parameters: {},
};
const workflow = {
  name: 'One',
  nodes: [{ ...node, webhookId: 'kept', notes: 'kept' }],
  connections: { Start: { main: [null, [{ node: 'Gone', type: 'main', index: 0 }]] }, Gone: { main: [] } },
  active: true,
  tags: [{ name: 'kept' }],
  meta: { instanceId: 'kept' },
};

describe('parseWorkflow', () => {
  it('keeps every field, and links to nodes that are not there', () => {
    const before = JSON.stringify(workflow);
    expect(parseWorkflow(workflow)).toEqual(workflow);
    expect(JSON.stringify(workflow)).toBe(before);
  });

  it.each([
    ['in an object of an export', { workflow }],
    ['in an answer of n8n’s API', { data: workflow }],
    ['alone in a list', [workflow]],
  ])('finds the workflow %s', (_where, input) => {
    expect(parseWorkflow(input)).toEqual(workflow);
  });

  it('fills in what n8n fills in when it imports', () => {
    const old = { nodes: [{ name: 'Start', type: 'n8n-nodes-base.start', extra: 1 }] };
    expect(parseWorkflow(old)).toEqual({
      nodes: [
        { name: 'Start', type: 'n8n-nodes-base.start', extra: 1, typeVersion: 1, position: [0, 0], parameters: {} },
      ],
      connections: {},
    });
  });

  it.each([
    [null, {}],
    [[], {}],
    ['', {}],
    [{ A: null, B: [], C: '' }, { B: {} }],
    [{ A: { main: null, ai_tool: '' } }, { A: {} }],
    [{ A: { main: ['', null, [null]] } }, { A: { main: [null, null, []] } }],
    [{ A: { ai_tool: [[{ node: 'B' }]] } }, { A: { ai_tool: [[{ node: 'B', type: 'ai_tool', index: 0 }]] } }],
  ])('reads connections that are as good as none: %j', (connections, expected) => {
    expect(parseWorkflow({ nodes: [node], connections }).connections).toEqual(expected);
  });

  it.each([
    ['it is not an object', 'text'],
    ['it is not an object', null],
    ['it is a list of 2 values, not one workflow', [workflow, workflow]],
    ['it has no list of nodes', { connections: {} }],
    ['it has no list of nodes', { nodes: {}, data: { nodes: 1 } }],
    ['node 2 is not an object', { nodes: [node, null] }],
    ['node 1 has no name', { nodes: [{ ...node, name: '' }] }],
    ['node "Start" has no type', { nodes: [{ ...node, type: 1 }] }],
    ['two nodes are named "Start"', { nodes: [node, node] }],
    ['its connections are not an object', { nodes: [], connections: [1] }],
    ['the connections of "A" are not an object', { nodes: [], connections: { A: [1] } }],
    ['the main connections of "A" are not a list', { nodes: [], connections: { A: { main: {} } } }],
    ['an output of "A" is not a list of links', { nodes: [], connections: { A: { main: [{}] } } }],
    ['a link of "A" has no node, type or index', { nodes: [], connections: { A: { main: [[{ index: 0 }]] } } }],
  ])('says that %s', (problem, input) => {
    expect(() => parseWorkflow(input)).toThrow(`This is not a workflow that can be read: ${problem}.`);
  });
});
