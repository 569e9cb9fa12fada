import { execFileSync } from 'node:child_process';
import path from 'node:path';

const ROOT = path.resolve(__dirname, '../..');

it('a test of somebody else runs an agent without Postgres and without a model provider', () => {
  const script = `
    const { createRuntime } = require('n8n-nodes-universal-ai-agent');
    const { createMemoryLedger, createMemoryTenants, createScriptedModel } = require('n8n-nodes-universal-ai-agent/testing');
    const id = '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f';
    const ledger = createMemoryLedger();
    const tool = {
      definition: { name: 'find_orders', description: 'Finds orders', inputSchema: { type: 'object' } },
      parseInput: (value) => ({ ok: true, value }),
      execute: async () => ({ isError: false, value: { orders: 3 } }),
    };
    const usage = { promptTokens: 1250, completionTokens: 340 };
    const model = createScriptedModel([{ calls: [{ name: 'find_orders' }], usage }, 'You have three orders.']);
    const prices = [{ modelId: 'openai/gpt-4o-mini', inputPer1M: '0.15', outputPer1M: '0.60' }];
    const tenants = createMemoryTenants([{ id, prices }]);
    const runtime = createRuntime({ plugins: { ledger, tenants, model, tools: [tool] } });
    runtime
      .run({ config: { agent_tier: 'pro', message: 'My orders?' }, meta: { tenant_id: id } })
      .then(({ result, cost_usd }) => console.log(JSON.stringify([result.text, cost_usd, ledger.spent(id), model.left()])))
      .then(() => runtime.close());
  `;
  const output = execFileSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' });
  expect(JSON.parse(output)).toEqual([
    'You have three orders.',
    '0.00039150',
    { costUsd: '0.0003915', tokens: 1590 },
    0,
  ]);
});
