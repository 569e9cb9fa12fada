import type { JsonObject } from '../../../runtime/util/json';
import type { MigrationOptions, Workflow } from '../../../runtime/workflow-migration/contract';
import { attach, chain, node, type Part, workflow } from '../../support/workflows/workflow-builder';
import { agentNode, migrated, modelNode, newNode, reasons } from './a-cluster';

interface Lone {
  readonly start?: Part;
  readonly agent?: Partial<Part>;
  readonly model?: Partial<Part>;
  /** Nodes behind the agent, in a row. */
  readonly behind?: readonly Part[];
  /** Sub-nodes, by the kind of their link. */
  readonly wired?: readonly (readonly [string, Part])[];
}

function lone({
  start = node('Start', 'base.manualTrigger@1'),
  agent,
  model,
  behind = [],
  wired = [],
}: Lone): Workflow {
  return workflow('Lone', {
    parts: [start, agentNode('Helper', agent), modelNode('Model', model), ...behind, ...wired.map(([, part]) => part)],
    wires: [
      ...chain(start.name, 'Helper', ...behind.map(({ name }) => name)),
      ...attach('Model', 'ai_languageModel', ['Helper']),
      ...wired.flatMap(([kind, { name }]) => attach(name, kind, ['Helper'])),
    ],
  });
}

const notes = (input: Workflow, options: Partial<MigrationOptions> = {}): string =>
  migrated(input, options)
    .report.notes.map(({ text }) => text)
    .join('\n');

it('tells of a tenant that nothing in the workflow names', () => {
  const tenant = '={{ $json.tenant_id }}';
  expect(notes(lone({}), { tenant })).toContain('Its tenant is the field tenant_id');
  const named = lone({ start: node('Start', 'base.set@3.4', { name: 'tenant_id' }) });
  expect(notes(named, { tenant })).not.toContain('Its tenant is');
  expect(notes(lone({}))).not.toContain('Its tenant is');
});

it('tells of a memory that keeps tool calls where the agent kept none', () => {
  const wired = [
    ['ai_memory', node('Memory', 'ai.memoryBufferWindow@1.3')],
    ['ai_tool', node('Think', 'ai.toolThink@1.1')],
  ] as const;
  expect(notes(lone({ wired, agent: { typeVersion: 2.2 } }))).toContain('holds fewer turns');
  expect(notes(lone({ wired }))).not.toContain('holds fewer turns');
  expect(notes(lone({ wired: [wired[0]], agent: { typeVersion: 2.2 } }))).not.toContain('holds fewer turns');
});

it('keeps disabled sub-nodes wired, and tells whose name the list of tools lacks', () => {
  const wired = [
    ['ai_memory', { ...node('Memory', 'ai.memoryBufferWindow@1.3'), disabled: true }],
    ['ai_tool', { ...node('Mailer', 'base.gmailTool@2.1'), disabled: true }],
  ] as const;
  const { workflow: after, report } = migrated(lone({ wired }));
  expect(report.clusters[0]?.connected).toEqual(['Memory', 'Mailer']);
  expect(after.connections.Mailer?.ai_tool).toEqual([[{ node: 'Helper', type: 'ai_tool', index: 0 }]]);
  expect(notes(lone({ wired }))).toContain('Who enables Mailer again');
});

describe('what the new node could not do', () => {
  const parameters = (more: JsonObject): Partial<Part> => ({
    parameters: { promptType: 'define', options: {}, ...more },
  });

  it.each<[string, Lone, string]>([
    ['an empty prompt', { agent: parameters({ text: '=' }) }, 'no-prompt:'],
    ['no prompt', { agent: parameters({}) }, 'no-prompt:'],
    [
      'a source of the prompt that is computed',
      { agent: parameters({ promptType: '={{ $json.x }}' }) },
      'prompt-type:',
    ],
    [
      'what n8n tells of an agent',
      { agent: parameters({ text: '={{ $agentInfo.tools }}' }) },
      'expressions:expressions',
    ],
    ['a tool that asks a person', { wired: [['ai_tool', node('Ask', 'base.slackHitlTool@2.3')]] }, 'human-review:'],
  ])('leaves the agent: %s', (_what, given, reason) => {
    expect(reasons(lone(given))).toEqual([reason]);
  });

  it('leaves the agent of a chat that is streamed where its model stays connected', () => {
    const start = node('Start', 'ai.chatTrigger@1.4', { availableInChat: true });
    const anthropic = { type: '@n8n/n8n-nodes-langchain.lmChatAnthropic' };
    expect(reasons(lone({ start, model: anthropic }))).toEqual(['streaming:dropped-options']);
    expect(reasons(lone({ start }))).toEqual([]);
  });

  it.each(['outputParserItemList@1', 'outputParserStructured@1'])('asks before the fields of %s move', (type) => {
    const parser = ['ai_outputParser', node('Form', `ai.${type}`)] as const;
    const memory = ['ai_memory', node('Memory', 'ai.memoryBufferWindow@1.3')] as const;
    const agent = parameters({ text: 'Hi', hasOutputParser: true });
    expect(reasons(lone({ agent, wired: [parser] }))).toEqual(['output-shape:expressions']);
    expect(reasons(lone({ agent, wired: [parser, memory] }))).toEqual([]);
  });
});

it('leaves an agent whose steps are read, and not one for fields that both nodes give or neither', () => {
  const reads = (field: string): Workflow =>
    lone({
      behind: [
        node('Next', 'base.set@3.4', { a: `={{ $('Helper').item.json.${field} }}`, b: `={{ $json.${field} }}` }),
      ],
    });
  expect(reasons(reads('intermediateSteps'))).toEqual(['expressions:expressions']);
  for (const field of ['output', 'error', 'priority']) expect(reasons(reads(field))).toEqual([]);
});

it.each(['n8n-nodes-traces.lmTraced', '@n8n/n8n-nodes-langchain.code'])('keeps %s with the model behind it', (type) => {
  const input = workflow('Traced', {
    parts: [
      node('Start', 'base.manualTrigger@1'),
      agentNode('Helper'),
      modelNode('Traced', { type }),
      modelNode('Model'),
    ],
    wires: [
      ...chain('Start', 'Helper'),
      ...attach('Traced', 'ai_languageModel', ['Helper']),
      ...attach('Model', 'ai_languageModel', ['Traced']),
    ],
  });
  const { workflow: after, report } = migrated(input);
  expect(report.clusters[0]).toMatchObject({ connected: ['Traced'], removed: ['Helper'] });
  expect(after.connections.Model).toEqual(input.connections.Model);
});

it('leaves an agent whose model is a node of another kind', () => {
  const input = workflow('Odd', {
    parts: [node('Start', 'base.manualTrigger@1'), node('Between', 'base.noOp@1'), agentNode('Helper')],
    wires: [...chain('Start', 'Between', 'Helper'), ...attach('Start', 'ai_languageModel', ['Helper'])],
  });
  expect(reasons(input)).toContain('odd-links:');
});

it('leaves an agent with a fallback and no model', () => {
  const input = workflow('Odd', {
    parts: [node('Start', 'base.manualTrigger@1'), agentNode('Helper'), modelNode('Spare')],
    wires: [
      ...chain('Start', 'Helper'),
      { from: 'Spare', to: 'Helper', type: 'ai_languageModel', output: 0, input: 1 },
    ],
  });
  expect(reasons(input)).toContain('odd-links:');
});

it('reads a source of the prompt that is written as a fixed expression', () => {
  const agent = { parameters: { promptType: '=define', text: 'Say hello', options: {} } };
  expect(newNode(lone({ agent })).parameters.message).toBe('Say hello');
});

describe('the note on the canvas', () => {
  const boxes = (input: Workflow): readonly { y: number; height: number }[] =>
    migrated(input).workflow.nodes.flatMap(({ name, position, parameters }) =>
      name.startsWith('Migration of') ? [{ y: position[1], height: parameters.height as number }] : [],
    );

  it('covers no node', () => {
    const input = lone({});
    const helper = input.nodes.find(({ name }) => name === 'Helper')?.position ?? [0, 0];
    const above = { ...node('Above', 'base.noOp@1'), position: [helper[0], helper[1] - 150] as const };
    const [place] = boxes({ ...input, nodes: [...input.nodes, above] });
    expect((place?.y ?? 0) + (place?.height ?? 0)).toBeLessThanOrEqual(above.position[1]);
  });

  it('is as high as its text', () => {
    const wired = Array.from(
      { length: 20 },
      (_, index) => ['ai_tool', node(`Tool ${index}`, 'ai.toolThink@1.1')] as const,
    );
    expect(boxes(lone({ wired }))[0]?.height).toBeGreaterThan(500);
    expect(boxes(lone({}))[0]?.height).toBe(260);
  });
});
