// What the demo shows after the table, an act a line. Each throws when it does not turn out so with the stand-in model.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { commandLine, commandLineText } from '../command-line.mjs';
import { root } from '../run-steps.mjs';
import { printAct, sumUsd } from './print.mjs';
import { withOwnCredential } from './workflows.mjs';

const INSERT_TOOL = `
WITH tool AS (
  INSERT INTO elo_agent_tools (code, name, description, parameters_schema, mcp_endpoint, transport)
  VALUES ($1, $1, $2, $3, $4, 'hook') RETURNING id
)
INSERT INTO elo_t_tenant_tools (tenant_id, tool_id, is_enabled, custom_config)
SELECT $5, id, true, $6::jsonb FROM tool`;

const RETURNS = { task_id: 'demo-returns', config: { agent_tier: 'pro', message: 'May Ada return the bicycle bell?' } };

/** @param {{ stack: any, database: import('pg').Client }} demo */
export function createActs({ stack, database }) {
  const [shop, travel] = stack.tenants;
  const runTask = async (task) => {
    const { status, text, json } = await stack.n8n.callWebhook('demo-tasks', { tasks: [task] });
    if (status !== 200 || !Array.isArray(json)) throw new Error(`n8n answered HTTP ${status}: ${text.slice(0, 2000)}`);
    return json[0];
  };
  const of = (tenant, task) => ({ ...task, meta: { tenant_id: tenant.id } });
  const expect = (holds, what) => {
    if (!holds && stack.hasStandIn) throw new Error(`The demo shows what it should not: ${what}`);
  };
  const insertTool = ({ name, description, parameters, config = {} }) =>
    database.query(INSERT_TOOL, [
      name,
      description,
      JSON.stringify(parameters),
      `${stack.hookUrl}/hook`,
      shop.id,
      config,
    ]);
  const countTools = async () => {
    const { tools } = await commandLine(['tools', 'list', '--tenant', shop.id, '--tier', 'pro'], { env: stack.env });
    return tools.length;
  };
  const spent = () => readBill(stack.tenants, stack.env);
  const costSince = async (before) => `$${Number(sumUsd([await spent(), `-${before}`]))}`;

  return {
    async insertRow() {
      const before = await countTools();
      const parameters = { type: 'object', properties: {} };
      await insertTool({ name: 'return_policy', description: 'How long a customer may return something', parameters });
      const [after, { output, result }] = [await countTools(), await runTask(of(shop, RETURNS))];
      expect(result?.tool_calls[0]?.tool === 'return_policy', JSON.stringify(result));
      printAct('A row is inserted', `the next run has ${after} tools, not ${before}: "${output}"`);
    },

    async replay() {
      const [asked, before] = [stack.modelRequests.length, await spent()];
      const { replayed, output } = await runTask(of(shop, RETURNS));
      expect(replayed && stack.modelRequests.length === asked, 'a second run of the same task');
      printAct('The same task again', `replayed for ${await costSince(before)}, no model call: "${output}"`);
    },

    async exceedBudget() {
      const set = (sql) =>
        database.query(`UPDATE elo_t_tenants SET settings = settings ${sql} WHERE id = $1`, [travel.id]);
      const [asked, before] = [stack.modelRequests.length, await spent()];
      await set(`|| '{"monthly_cost_limit_usd": "0.0001"}'`);
      const { error } = await runTask(
        of(travel, { config: { agent_tier: 'pro', message: 'Which trips has Ada booked?' } }),
      );
      await set(`- 'monthly_cost_limit_usd'`);
      expect(error?.code === 'BUDGET_EXCEEDED' && stack.modelRequests.length === asked, JSON.stringify(error));
      printAct(
        `${travel.name} gets a budget of $0.0001`,
        `${error?.code} before the model is asked, ${await costSince(before)} spent`,
      );
    },

    async approve() {
      const parameters = { type: 'object', properties: { order: { type: 'integer' } }, required: ['order'] };
      const config = { permissions: { decision: 'ask' } };
      await insertTool({ name: 'refund_order', description: 'Refund an order', parameters, config });
      const asked = await runTask(of(shop, { config: { agent_tier: 'pro', message: 'Please refund number 1001.' } }));
      expect(asked.status === 'awaiting_input', JSON.stringify(asked));
      if (asked.status !== 'awaiting_input') return printAct('A tool needs a person', 'the model did not ask for it');
      const approval = { run_id: asked.run_id, decision: 'approve' };
      const { status, output } = await runTask(of(shop, { config: { agent_tier: 'pro', approval } }));
      expect(status === 'completed', status);
      const call = `${asked.awaiting.tool}(${JSON.stringify(asked.awaiting.arguments)})`;
      printAct('A tool needs a person', `${asked.status} ${call}; approved, it goes on: "${output}"`);
    },

    /** Resolves with the workflow as it was and as it is. */
    async migrate() {
      const folder = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-demo-'));
      const [before, after, back, report] = ['before', 'after', 'back', 'report'].map((name) =>
        path.join(folder, `${name}.json`),
      );
      try {
        const exported = path.join(root, 'test/fixtures/workflows/five-branches.json');
        const original = JSON.stringify(
          withOwnCredential(JSON.parse(readFileSync(exported, 'utf8')), stack.credentials),
        );
        writeFileSync(before, original);
        const { id, name } = stack.credentials.postgres;
        const options = ['--sql', path.join(folder, 'rows.sql'), '--report', report, '--tenant', shop.id];
        const startedAt = performance.now();
        await commandLineText([
          'migrate-workflow',
          before,
          '-o',
          after,
          ...options,
          '--postgres-credential',
          `${id}:${name}`,
        ]);
        const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
        await commandLineText(['migrate-workflow', '--undo', report, '-o', back]);
        expect(readFileSync(back, 'utf8') === original, 'the undone migration differs from the original');
        const [was, is] = [JSON.parse(original), JSON.parse(readFileSync(after, 'utf8'))];
        const [many, few] = [was, is].map(
          ({ nodes }) => nodes.filter(({ type }) => !type.endsWith('.stickyNote')).length,
        );
        printAct(
          'Five static AI Agents',
          `migrated in ${seconds} s by one command: ${many} nodes become ${few}; undone, the file is the same byte for byte`,
        );
        return [was, is];
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  };
}

/** What the database says that these tenants owe. */
export async function readBill(tenants, env) {
  const bills = await Promise.all(tenants.map(({ id }) => commandLine(['usage', '--tenant', id], { env })));
  return sumUsd(bills.flatMap(({ months }) => months.map((line) => line.total_cost_usd)));
}
