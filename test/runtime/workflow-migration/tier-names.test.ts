import type { MigrationOptions, Workflow } from '../../../runtime/workflow-migration/contract';
import { renderText } from '../../../runtime/workflow-migration/rewrite/render-report';
import { type BranchParts, migrated, model, switched } from './a-cluster';

const tiersOf = (input: Workflow, options: Partial<MigrationOptions> = {}): readonly string[] =>
  migrated(input, options).report.clusters.flatMap(({ tiers }) => tiers.map(({ code }) => code));

describe('the tiers', () => {
  it("of agents with n8n's own names are named after their models", () => {
    const agents: Readonly<Record<string, BranchParts>> = {
      a: { agent: { name: 'AI Agent' }, ...model('openai/gpt-4o', { temperature: 0.3 }) },
      b: { agent: { name: 'AI Agent1' }, ...model('mistralai/mistral-small', { temperature: 0.3 }) },
    };
    expect(tiersOf({ ...switched(agents), name: 'Support desk' })).toEqual([
      expect.stringMatching(/^suppo_gpt_4o_[0-9a-z]{7}$/),
      expect.stringMatching(/^suppo_mistra_[0-9a-z]{7}$/),
    ]);
  });

  const lone = (name: string | undefined, agent: string): Workflow => {
    const branch = { agent: { name: agent }, ...model('openai/gpt-4o-mini', { temperature: 0.3 }) };
    return { ...switched({ pro: branch }), name };
  };

  it.each([
    { workflow: 'Support desk', agent: 'Refund Assistant', code: /^suppo_refund_[0-9a-z]{7}$/ },
    { workflow: 'Support desk', agent: 'Support agent', code: /^desk_support_[0-9a-z]{7}$/ },
    { workflow: 'Support desk', agent: 'AI Agent', code: /^support_desk_[0-9a-z]{7}$/ },
    { workflow: 'My workflow 5', agent: 'AI Agent2', code: /^my_workflow_[0-9a-z]{7}$/ },
    { workflow: 'Commandes du café', agent: 'AI Agent', code: /^commandes_du_[0-9a-z]{7}$/ },
    { workflow: 'Заявки', agent: 'Агент', code: /^gpt_4o_mini_[0-9a-z]{7}$/ },
  ])('of "$workflow" and "$agent" have codes of their telling words', ({ workflow, agent, code }) => {
    const { sql, report } = migrated(lone(workflow, agent));
    const [tier = ''] = report.clusters.flatMap(({ tiers }) => tiers.map((one) => one.code));
    expect(tier).toMatch(code);
    expect(sql).toContain(`'${workflow}: ${agent}'`);
    expect(renderText({ file: 'x.json', report })).toContain(`--tier-map ${tier}=TIER`);
  });

  it.each([undefined, '', ' ', '\u200b'])('of a workflow named %j are named after the agent alone', (name) => {
    const { sql, report } = migrated(lone(name, 'AI Agent2'));
    expect(sql).toMatch(/^-- Rows for an unnamed workflow\.\n/);
    expect(sql).toMatch(/\('gpt_4o_mini_[0-9a-z]{7}', 'AI Agent2', /);
    expect(renderText({ file: 'x.json', report })).toMatch(/^x\.json: unnamed workflow\n/);
  });

  it('of a workflow without a name are named after the fallback name', () => {
    const { sql, report } = migrated(lone('', 'AI Agent'), { fallbackName: 'orders' });
    expect(sql).toMatch(/^-- Rows for the workflow "orders"\.\n[^]*\('orders_[0-9a-z]{7}', 'orders: AI Agent', /);
    expect(report.workflow).toBe('orders');
    expect(migrated(lone('Shop', 'AI Agent'), { fallbackName: 'orders' }).report.workflow).toBe('Shop');
  });

  const settings = { modelId: 'openai/gpt-4o-mini', temperature: 0.3 };
  const withTier = (code: string, name: string): Partial<MigrationOptions> => ({
    tiers: [{ code, name, ...settings }],
  });

  it.each(['', 'Support'])('of an earlier run for the workflow "%s" are reused by it and by no other', (name) => {
    const first = migrated(lone(name, 'AI Agent'), { tiers: [] });
    const [code = ''] = tiersOf(lone(name, 'AI Agent'));
    const there = withTier(code, name === '' ? 'AI Agent' : 'Support: AI Agent');
    expect(migrated(lone(name, 'AI Agent'), there)).toEqual(first);
    // Another workflow with the same settings does not share the row.
    expect(tiersOf(lone('Billing', 'AI Agent'), there)).toEqual([expect.stringMatching(/^billing_/)]);
  });

  it('of an earlier build keep their codes', () => {
    const [code = ''] = tiersOf(lone('Support', 'AI Agent'));
    const before = `agent_${code.slice(-7)}`;
    expect(tiersOf(lone('Support', 'AI Agent'), withTier(before, 'Support: AI Agent'))).toEqual([before]);
  });

  it('of the database are reused although their codes end like those of a migration', () => {
    expect(tiersOf(lone('Shop', 'AI Agent'), withTier('pro_support', 'Pro'))).toEqual(['pro_support']);
  });
});
