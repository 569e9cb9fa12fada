import type { MigrationReport } from '../../../runtime/workflow-migration/contract';
import { renderMarkdown, renderText } from '../../../runtime/workflow-migration/rewrite/render-report';

const MIGRATED: MigrationReport = {
  version: 1,
  workflow: 'Shop',
  clusters: [
    {
      node: 'Universal AI Agent',
      router: 'Switch',
      agents: ['Agent nano', 'Agent pro'],
      removed: ['Agent nano', 'Agent pro', 'Model nano', 'Model pro'],
      unwired: [],
      connected: ['Memory'],
      tiers: [
        { code: 'nano', model: 'qwen/qwen3-4b:free', agent: 'Agent nano', isNew: false },
        { code: 'shop_pro_1a2b3', model: 'my/model', agent: 'Agent pro', isNew: true },
      ],
      tools: [{ node: 'Find orders', code: 'find_orders' }],
    },
  ],
  left: [
    { node: 'Old agent', reason: 'agent-kind', text: 'It is a ReAct agent.', allowance: 'agent-kind' },
    { node: 'Other agent', reason: 'several-providers', text: 'Its models are on two providers.' },
  ],
  notes: [
    { node: 'Find orders', text: 'Put its secret into the vault.' },
    { node: 'Merge', text: 'Runs once.', allowance: 'merged-runs' },
  ],
};
const LEFT: MigrationReport = { version: 1, workflow: 'Plain', clusters: [], left: [], notes: [] };

it('tells all of a migration as text', () => {
  expect(renderText({ file: 'shop.json', report: MIGRATED })).toBe(`shop.json: Shop
  New node: Universal AI Agent
    Stands for: Agent nano, Agent pro
    Behind the router: Switch
    Removed: Agent nano, Agent pro, Model nano, Model pro
    Connected as before: Memory
    Tools that are rows now: Find orders (find_orders)
    Agent nano: tier nano with qwen/qwen3-4b:free
    Agent pro: tier shop_pro_1a2b3 with my/model, a new row
    To use a tier of your database instead of the new one: --tier-map shop_pro_1a2b3=TIER
  Agents left as they are:
    Old agent (agent-kind): It is a ReAct agent. Allow it with --allow agent-kind.
    Other agent (several-providers): Its models are on two providers.
  To know or to do:
    Find orders: Put its secret into the vault.
    Merge: Runs once. (allowed by merged-runs)
`);
});

it('says of a workflow that it is left', () => {
  expect(renderText({ file: 'plain.json', report: LEFT })).toBe('plain.json: Plain\n  Left as it is.\n');
});

it('tells all of many migrations as Markdown, what was migrated first', () => {
  const markdown = renderMarkdown([
    { file: 'plain.json', report: LEFT },
    { file: 'shop.json', report: MIGRATED },
  ]);
  expect(markdown).toBe(`# Migrated workflows

1 of 2 workflows were migrated.

## Shop

File: shop.json

### Universal AI Agent
- Stands for: Agent nano, Agent pro
- Behind the router: Switch
- Removed: Agent nano, Agent pro, Model nano, Model pro
- Connected as before: Memory
- Tools that are rows now: Find orders (find\\_orders)

| agent | tier | model | its row |
| --- | --- | --- | --- |
| Agent nano | nano | qwen/qwen3-4b:free | there already |
| Agent pro | shop\\_pro\\_1a2b3 | my/model | new |

To use a tier of your database instead of the new one: --tier-map shop\\_pro\\_1a2b3=TIER.

### Agents left as they are

- Old agent (agent-kind): It is a ReAct agent. Allow it with --allow agent-kind.
- Other agent (several-providers): Its models are on two providers.

### To know or to do

- Find orders: Put its secret into the vault.
- Merge: Runs once. (allowed by merged-runs)

# Left as they are

## Plain

File: plain.json
`);
});

it('lets no name break a line, a table or a terminal', () => {
  const report = { ...LEFT, workflow: 'a\n# b\u001b[31m | <img> `c` [d](e)' };
  expect(renderText({ file: 'x.json', report }).split('\n')[0]).toBe('x.json: a # b [31m | <img> `c` [d](e)');
  expect(renderMarkdown([{ file: 'x.json', report }])).toContain(String.raw`## a \# b \[31m \| \<img\> \`c\` \[d\](e)`);
});

it('calls a workflow without a name after its file', () => {
  expect(renderMarkdown([{ file: 'x.json', report: { ...LEFT, workflow: '' } }])).toContain('## x.json\n');
});
