// What the demo shows after the table, an act a line. With the stand-in model, one that does not turn out so is an error.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { commandLine, commandLineText } from '../command-line.mjs';
import { root } from '../run-steps.mjs';
import { printAct, sumUsd } from './print.mjs';
import { withOwnCredential } from './workflows.mjs';

/** @typedef {{ stack: any, database: import('pg').Client }} Demo */

const INSERT_TOOL = `
WITH tool AS (
  INSERT INTO elo_agent_tools (code, name, description, parameters_schema, mcp_endpoint, transport)
  VALUES ($1, $1, $2, $3, $4, 'hook') RETURNING id
)
INSERT INTO elo_t_tenant_tools (tenant_id, tool_id, is_enabled, custom_config)
SELECT $5, id, true, $6::jsonb FROM tool`;

const RETURNS = { task_id: 'demo-returns', config: { agent_tier: 'pro', message: 'May Ada return the bicycle bell?' } };

/** @param {Demo} demo */
export async function insertRow({ stack, database }) {
  const [shop] = stack.tenants;
  const before = await countTools(stack, shop);
  await insertTool({ stack, database }, shop, {
    name: 'return_policy',
    description: 'How long a customer may return something',
    parameters: { type: 'object', properties: {} },
  });
  const after = await countTools(stack, shop);
  const { output, result } = await runTask(stack, shop, RETURNS);
  demand(stack, result?.tool_calls[0]?.tool === 'return_policy', result);
  printAct('A row is inserted', `the next run has ${after} tools, not ${before}: "${output}"`);
}

/** @param {Demo} demo */
export async function repeatTask({ stack }) {
  const [asked, before] = [stack.modelRequests.length, await readBill(stack)];
  const { replayed, output } = await runTask(stack, stack.tenants[0], RETURNS);
  demand(stack, replayed && stack.modelRequests.length === asked, { replayed });
  printAct('The same task again', `replayed for ${await costSince(stack, before)}, no model call: "${output}"`);
}

/** @param {Demo} demo */
export async function exceedBudget({ stack, database }) {
  const [, travel] = stack.tenants;
  const changeSettings = (change) =>
    database.query(`UPDATE elo_t_tenants SET settings = settings ${change} WHERE id = $1`, [travel.id]);
  const [asked, before] = [stack.modelRequests.length, await readBill(stack)];
  await changeSettings(`|| '{"monthly_cost_limit_usd": "0.0001"}'`);
  const task = { config: { agent_tier: 'pro', message: 'Which trips has Ada booked?' } };
  const { error } = await runTask(stack, travel, task);
  await changeSettings(`- 'monthly_cost_limit_usd'`);
  demand(stack, error?.code === 'BUDGET_EXCEEDED' && stack.modelRequests.length === asked, { error });
  const outcome = `${error?.code} before the model is asked, ${await costSince(stack, before)} spent`;
  printAct(`${travel.name} gets a budget of $0.0001`, outcome);
}

/** @param {Demo} demo */
export async function approve({ stack, database }) {
  const [shop] = stack.tenants;
  await insertTool({ stack, database }, shop, {
    name: 'refund_order',
    description: 'Refund an order',
    parameters: { type: 'object', properties: { order: { type: 'integer' } }, required: ['order'] },
    config: { permissions: { decision: 'ask' } },
  });
  const config = { agent_tier: 'pro', message: 'Please refund number 1001.' };
  const { status, run_id: runId, awaiting } = await runTask(stack, shop, { config });
  demand(stack, status === 'awaiting_input', { status });
  if (status !== 'awaiting_input') return printAct('A tool needs a person', 'the model did not ask for it');
  const approval = { run_id: runId, decision: 'approve' };
  const approved = await runTask(stack, shop, { config: { agent_tier: 'pro', approval } });
  demand(stack, approved.status === 'completed', approved);
  const call = `${awaiting.tool}(${JSON.stringify(awaiting.arguments)})`;
  printAct('A tool needs a person', `${status} ${call}; approved, it goes on: "${approved.output}"`);
}

/**
 * Resolves with the workflow as it was and as it is.
 * @param {Demo} demo
 */
export async function migrate({ stack }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'universal-ai-agent-demo-'));
  const file = (name) => path.join(folder, name);
  try {
    const exported = path.join(root, 'test/fixtures/workflows/five-branches.json');
    const before = withOwnCredential(JSON.parse(readFileSync(exported, 'utf8')), stack.credentials);
    writeFileSync(file('before.json'), JSON.stringify(before));
    const { id, name } = stack.credentials.postgres;
    const startedAt = performance.now();
    await commandLineText([
      ...['migrate-workflow', file('before.json'), '-o', file('after.json'), '--report', file('report.json')],
      ...['--sql', file('rows.sql'), '--tenant', stack.tenants[0].id, '--postgres-credential', `${id}:${name}`],
    ]);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    await commandLineText(['migrate-workflow', '--undo', file('report.json'), '-o', file('back.json')]);
    const isSame = readFileSync(file('back.json')).equals(readFileSync(file('before.json')));
    demand(stack, isSame, 'the undone migration differs from the original');
    const after = JSON.parse(readFileSync(file('after.json'), 'utf8'));
    const nodes = `${countNodes(before)} nodes become ${countNodes(after)}`;
    const undone = isSame ? 'undone, the file is the same byte for byte' : 'undone, the file differs';
    printAct('Five static AI Agents', `migrated in ${seconds} s by one command: ${nodes}; ${undone}`);
    return [before, after];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What the tenants owe, by the database. */
export async function readBill({ tenants, env }) {
  const bills = await Promise.all(tenants.map(({ id }) => commandLine(['usage', 'summary', '--tenant', id], { env })));
  return sumUsd(bills.flatMap(({ usage }) => usage.map((line) => line.total_cost_usd)));
}

async function costSince(stack, before) {
  return `$${Number(sumUsd([await readBill(stack), `-${before}`]))}`;
}

async function runTask({ n8n }, tenant, task) {
  const tasks = [{ ...task, meta: { tenant_id: tenant.id } }];
  const { status, text, json } = await n8n.callWebhook('demo-tasks', { tasks });
  if (status !== 200 || !Array.isArray(json)) throw new Error(`n8n answered HTTP ${status}: ${text.slice(0, 2000)}`);
  return json[0];
}

function insertTool({ stack, database }, tenant, { name, description, parameters, config = {} }) {
  const values = [name, description, JSON.stringify(parameters), `${stack.hookUrl}/hook`, tenant.id, config];
  return database.query(INSERT_TOOL, values);
}

async function countTools({ env }, { id }) {
  const { tools } = await commandLine(['tool', 'list', '--tenant', id, '--tier', 'pro'], { env });
  return tools.length;
}

const countNodes = ({ nodes }) => nodes.filter(({ type }) => !type.endsWith('.stickyNote')).length;

/** A real model may do otherwise. */
function demand({ hasStandIn }, holds, found) {
  if (!holds && hasStandIn) throw new Error(`An act of the demo failed: ${JSON.stringify(found)}`);
}
