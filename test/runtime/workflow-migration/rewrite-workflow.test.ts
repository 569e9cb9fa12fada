import { attach, chain, main, node, type Part, workflow } from '../../support/workflows/workflow-builder';
import { agentNode, migrated, modelNode, newNodes, reasons, switched } from './a-cluster';

const OURS = 'Universal AI Agent';
const toOurs = { node: OURS, type: 'main', index: 0 };

it('merges rules side by side, and numbers later outputs anew', () => {
  const input = switched({ a: {}, b: {}, c: {} });
  const router = input.nodes.find(({ name }) => name === 'Router');
  const values = (router?.parameters.rules as { values: object[] }).values;
  const withOther = {
    ...input,
    nodes: input.nodes.map((one) =>
      one.name === 'Router'
        ? { ...one, parameters: { rules: { values: [...values, values[0]] }, options: { fallbackOutput: 3 } } }
        : one,
    ),
    connections: {
      ...input.connections,
      Router: { main: [...(input.connections.Router?.main ?? []), [{ node: 'Answer', type: 'main', index: 0 }]] },
    },
  } as typeof input;
  const { workflow, report } = migrated(withOther);
  expect(workflow.connections.Router).toEqual({ main: [[toOurs], [{ node: 'Answer', type: 'main', index: 0 }]] });
  const changed = workflow.nodes.find(({ name }) => name === 'Router')?.parameters;
  expect(changed).toMatchObject({
    options: { fallbackOutput: 1 },
    rules: { values: [{ conditions: { combinator: 'or', conditions: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] } }, {}] },
  });
  expect(report.notes.map(({ node: name }) => name)).toContain('Router');
});

it('keeps a run for each branch where something behind the agents can tell', () => {
  const answer = node('Answer', 'base.aggregate@1', {});
  const { workflow } = migrated(switched({ a: {}, b: {} }, { answer }));
  expect(workflow.connections.Router).toEqual({ main: [[toOurs], [toOurs]] });
  const { workflow: merged } = migrated(switched({ a: {}, b: {} }, { answer }), { allow: ['merged-runs'] });
  expect(merged.connections.Router).toEqual({ main: [[toOurs]] });
});

it.each([
  ['the agents', { executeOnce: true }, {}],
  ['the node behind them', {}, { executeOnce: true }],
])('keeps a run for each branch where %s run once', (_which, agent, more) => {
  const answer = { ...node('Answer', 'base.set@3.4', { value: '={{ $json.output }}' }), ...more };
  const { workflow } = migrated(switched({ a: { agent }, b: { agent } }, { answer }));
  expect(workflow.connections.Router).toEqual({ main: [[toOurs], [toOurs]] });
});

it('carries error settings, error outputs and notes', () => {
  const settings = { onError: 'continueErrorOutput', retryOnFail: true, maxTries: 4, waitBetweenTries: 7 };
  const agent = { ...settings, alwaysOutputData: true, notes: '**Mind** the [shop](x)' };
  const input = switched(
    { a: { agent }, b: { agent } },
    {
      parts: [node('Failed', 'base.noOp@1')],
      wires: [...main('Agent a', [], ['Failed']), ...main('Agent b', [], ['Failed'])],
    },
  );
  const { workflow } = migrated(input);
  expect(newNodes(workflow)[0]).toMatchObject({ ...settings, alwaysOutputData: true });
  expect(workflow.connections[OURS]?.main?.[1]).toEqual([{ node: 'Failed', type: 'main', index: 0 }]);
  const note = workflow.nodes.find(({ type }) => type.endsWith('stickyNote'))?.parameters.content;
  expect(note).toContain('\\*\\*Mind\\*\\*');
});

it('drops pins of agents that are gone, and says so', () => {
  const pinData = { 'Agent a': [{ json: { output: 'x' } }], Start: [{ json: {} }] };
  const { workflow, report } = migrated({ ...switched({ a: {}, b: {} }), pinData });
  expect(workflow.pinData).toEqual({ Start: [{ json: {} }] });
  expect(report.notes.some(({ text }) => text.includes('pinned'))).toBe(true);
});

it('leaves agents that go on to different nodes', () => {
  const input = switched({ a: {}, b: {} }, { parts: [node('Other', 'base.noOp@1')], wires: chain('Agent b', 'Other') });
  expect(reasons(input)).toEqual(['different-next-nodes:']);
});

it('leaves agents that go on to different inputs of one node', () => {
  const toJoin = (from: string, input: number) => ({ from, to: 'Join', type: 'main', output: 0, input });
  const wires = [toJoin('Agent a', 0), toJoin('Agent b', 1)];
  const input = switched({ a: {}, b: {} }, { parts: [node('Join', 'base.merge@3')], wires });
  expect(reasons(input)).toEqual(['different-next-nodes:']);
});

it('leaves agents with links to inputs that they do not have', () => {
  const wires = attach('Model a', 'ai_languageModel:5', ['Agent a']);
  expect(reasons(switched({ a: {}, b: {} }, { wires }))).toEqual(['odd-links:']);
});

it('keeps a tool that became a row where a node that stays leads to it', () => {
  const parts = [node('Find', 'base.httpRequestTool@4.2', { toolDescription: 'Finds', url: 'https://x.example.com' })];
  const wires = [...attach('Find', 'ai_tool', ['Agent a', 'Agent b']), ...chain('Start', 'Find')];
  const { workflow } = migrated(switched({ a: {}, b: {} }, { parts, wires }));
  expect(workflow.nodes.map(({ name }) => name)).toContain('Find');
  expect(workflow.connections.Start?.main?.[0]?.map((link) => link.node)).toEqual(['Router', 'Find']);
});

it('keeps two links from one node to another, which are two runs in n8n', () => {
  const parts = [node('Start', 'base.manualTrigger@1'), node('Log', 'base.noOp@1'), agentNode('Agent'), modelNode('M')];
  const wires = [...main('Start', ['Log', 'Log', 'Agent', 'Agent']), ...attach('M', 'ai_languageModel', ['Agent'])];
  const { workflow: after } = migrated(workflow('Shop', { parts, wires }));
  expect(newNodes(after)).toHaveLength(1);
  expect(after.connections.Start?.main?.[0]?.map((link) => link.node)).toEqual(['Log', 'Log', 'Agent', 'Agent']);
});

it('leaves the names of agents that keep theirs as they are written', () => {
  const value = "={{ $('Ann\\'s agent').item.json.output }}";
  const input = workflow('Lone', {
    parts: [
      node('Start', 'base.manualTrigger@1'),
      agentNode("Ann's agent"),
      modelNode('Model'),
      node('Answer', 'base.set@3.4', { value }),
      // Another agent is renamed, so that texts are gone through.
      ...switched({ a: {}, b: {} }).nodes.filter(
        ({ name }) => /^(?:Router|Agent|Model) ?/.test(name) && name !== 'Model',
      ),
    ] as Part[],
    wires: [
      ...chain('Start', "Ann's agent", 'Answer'),
      ...attach('Model', 'ai_languageModel', ["Ann's agent"]),
      ...chain('Start', 'Router'),
      ...main('Router', ['Agent a'], ['Agent b']),
      ...attach('Model a', 'ai_languageModel', ['Agent a']),
      ...attach('Model b', 'ai_languageModel', ['Agent b']),
    ],
  });
  expect(migrated(input).workflow.nodes.find(({ name }) => name === 'Answer')?.parameters.value).toBe(value);
});

it.each([
  ["={{ $('Agent a').item.json.output }}", "={{ $('Universal AI Agent').item.json.output }}"],
  ['={{ $node["Agent b"].json["output"] }}', '={{ $node["Universal AI Agent"].json["output"] }}'],
])('rewrites %s', (value, after) => {
  const answer = node('Answer', 'base.set@3.4', { value });
  const { workflow } = migrated(switched({ a: {}, b: {} }, { answer }));
  expect(workflow.nodes.find(({ name }) => name === 'Answer')?.parameters.value).toBe(after);
});

it('rewrites code too', () => {
  const answer = node('Answer', 'base.code@2', { jsCode: "return $('Agent a').item.json.output" });
  const { workflow } = migrated(switched({ a: {}, b: {} }, { answer }));
  expect(workflow.nodes.find(({ name }) => name === 'Answer')?.parameters.jsCode).toContain(`$('${OURS}')`);
});

it.each([
  "={{ $('Agent a').isExecuted }}",
  "={{ $('Agent a').all().length }}",
  "={{ $('Agent a').item.json.intermediateSteps }}",
  '={{ $json.intermediateSteps }}',
  "={{ $('Model a').params.model }}",
])('asks before it changes what %s gives', (value) => {
  const answer = node('Answer', 'base.set@3.4', { value });
  expect(reasons(switched({ a: {}, b: {} }, { answer }))).toEqual(['expressions:expressions']);
});

it('takes a name that no node has', () => {
  const { workflow } = migrated(switched({ a: {}, b: {} }, { parts: [node(OURS, 'base.noOp@1')] }));
  expect(newNodes(workflow).map(({ name }) => name)).toEqual(['Universal AI Agent 1']);
});
