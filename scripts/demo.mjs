// Shows the whole thing on this machine: a real n8n, two tenants, every tier, the bill; then what else there is, an act a line.
import pg from 'pg';

import * as acts from './lib/demo/acts.mjs';
import { log, printTable, sumUsd } from './lib/demo/print.mjs';
import { approvalWorkflow, chatWorkflow, n8nAgentWorkflow, taskWorkflow } from './lib/demo/workflows.mjs';
import { startDemoStack } from './lib/demo-stack.mjs';

const TIERS = ['nano', 'small', 'optima', 'pro', 'expert'];
const QUESTIONS = {
  'Demo shop': 'Which orders does Ada have, and when are they delivered to Lisbon?',
  'Demo travel': 'Which trips has Ada booked, and what is the weather in Lisbon?',
};

const keepsOpen = process.argv.includes('--keep');
const apiKey = process.env.OPENROUTER_API_KEY;
const url = process.env.OPENROUTER_BASE_URL ?? 'https://openrouter.ai/api/v1';
const stack = await startDemoStack({ log, model: apiKey ? { apiKey, url } : undefined });
const database = new pg.Client({ connectionString: stack.databaseUrl });
try {
  await database.connect();
  log(
    apiKey ? `Models are asked at ${url}.` : 'OPENROUTER_API_KEY is not set: a local stand-in answers for the models.',
  );
  await importAndActivate(taskWorkflow(stack.credentials));
  await stack.importExample('one-agent.json');
  await showTiers();
  const demo = { stack, database };
  await acts.insertRow(demo);
  await acts.repeatTask(demo);
  await acts.exceedBudget(demo);
  await acts.approve(demo);
  const migrated = await acts.migrate(demo);
  if (keepsOpen) await keepOpen(migrated);
} finally {
  await database.end();
  await stack.stop();
}
log(keepsOpen ? 'Done.' : 'Done. "npm run demo -- --keep" leaves n8n open, with a chat to try.');

async function importAndActivate(workflow) {
  const { id } = await stack.n8n.createWorkflow(workflow);
  await stack.n8n.activate(id);
}

async function showTiers() {
  const requests = stack.tenants.flatMap(({ id, name }) =>
    TIERS.map((tier) => ({ tenant: id, tier, message: QUESTIONS[name] })),
  );
  log(`One workflow with one node gets ${requests.length} items: two tenants, each with every tier …`);
  const { status, text, json } = await stack.n8n.callWebhook('one-agent', { requests });
  if (status !== 200 || !Array.isArray(json) || json.length !== requests.length) {
    throw new Error(`The webhook answered HTTP ${status}: ${text.slice(0, 2000)}`);
  }
  const nameOf = (index) => stack.tenants[Math.floor(index / TIERS.length)].name;
  const sum = sumUsd(json.map((item) => item.cost_usd));
  printTable(
    ['tenant', 'tier', 'model', 'tools', 'seconds', 'cost'],
    [
      ...json.map((item, index) => [
        nameOf(index),
        item.agent_tier,
        item.model_used,
        String(item.result.tool_calls.length),
        (item.duration_ms / 1000).toFixed(2),
        `$${item.cost_usd}`,
      ]),
      ['sum', '', '', '', '', `$${sum}`],
    ],
  );
  json.forEach((item, index) => {
    if (item.agent_tier !== 'pro') return;
    const tools = item.result.tool_calls.map(({ tool }) => tool).join(', ') || 'no tool';
    process.stdout.write(`  ${nameOf(index)} asks ${tools}\n    ${item.output}\n`);
  });
  process.stdout.write('\n');
  const billed = await acts.readBill(stack);
  log(`The bill in the database: $${billed}. The free tier nano gets no tools and costs nothing.`);
}

async function keepOpen([before, after]) {
  const [shop] = stack.tenants;
  const { n8n, credentials } = stack;
  const chat = await n8n.createWorkflow(chatWorkflow(credentials, shop));
  const other = await n8n.createWorkflow(n8nAgentWorkflow(credentials, stack.mcpUrl));
  const approval = await n8n.createWorkflow(approvalWorkflow(credentials, shop));
  await n8n.createWorkflow({ ...before, name: 'Five branches, before' });
  await n8n.createWorkflow({ ...after, name: 'Five branches, migrated' });
  const { email, password } = n8n.owner;
  process.stdout.write(
    `
  Editor        ${n8n.baseUrl}
  Sign in as    ${email}
  Password      ${password}
  DATABASE_URL  ${stack.databaseUrl}

  To try
  - Chat with memory: ${n8n.baseUrl}/workflow/${chat.id}
    Select "Open chat" and ask: Which orders does Ada have?
  - The same with n8n's own AI Agent, to compare: ${n8n.baseUrl}/workflow/${other.id}
  - A chat that waits for a person: ${n8n.baseUrl}/workflow/${approval.id}
    Ask: Please refund order 1001. Leave the chat open: in another browser tab, under "Executions", open a
    link in the output of "Links for the Operator".
  - Take the tools away, and ask again:
    psql "$DATABASE_URL" -c "UPDATE elo_t_tenant_tools SET is_enabled = false WHERE tenant_id = '${shop.id}'"
  - Run "Five branches, before" and "Five branches, migrated", beside them in the list of workflows.
  - Read the bill, in this folder and with DATABASE_URL set:
    node_modules/.bin/node dist/runtime/cli.js usage summary --tenant ${shop.id}

`,
  );
  log('Press Ctrl-C to end.');
  const waiting = setInterval(() => {}, 60_000);
  await new Promise((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
  clearInterval(waiting);
}
