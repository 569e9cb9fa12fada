// Shows the whole thing on this machine: a real n8n runs the example workflow for one item a tier and prints the bill.
import { commandLine } from './lib/command-line.mjs';
import { DEMO_TENANT, startDemoStack } from './lib/demo-stack.mjs';

const TIERS = ['nano', 'small', 'optima', 'pro', 'expert'];
const MESSAGE = 'Which orders does Ada have, and when will they be delivered to Lisbon?';

const keepsOpen = process.argv.includes('--keep');
const startedAt = performance.now();
const log = (line) =>
  process.stdout.write(`[${String(Math.round((performance.now() - startedAt) / 1000)).padStart(3)} s] ${line}\n`);

const apiKey = process.env.OPENROUTER_API_KEY;
const url = process.env.OPENROUTER_BASE_URL ?? 'https://openrouter.ai/api/v1';
const stack = await startDemoStack({ log, model: apiKey ? { apiKey, url } : undefined });
log(
  apiKey
    ? `Models are asked at ${url}.`
    : 'OPENROUTER_API_KEY is not set: a local stand-in answers in place of the models.',
);
try {
  const workflowId = await runWorkflow();
  await printBill();
  if (keepsOpen) await waitForInterrupt(workflowId);
} finally {
  await stack.stop();
}
log('Done.');

async function runWorkflow() {
  const workflowId = await stack.importExample('one-agent.json');
  log(`The workflow is active; sending its webhook one request of ${TIERS.length} items, one a tier …`);
  const requests = TIERS.map((tier) => ({ tenant: DEMO_TENANT, tier, message: MESSAGE }));
  const reply = await stack.n8n.callWebhook('one-agent', { requests });
  if (reply.status !== 200 || !Array.isArray(reply.json) || reply.json.length !== TIERS.length) {
    throw new Error(`The webhook answered HTTP ${reply.status}: ${reply.text.slice(0, 2000)}`);
  }
  for (const item of reply.json) printItem(item);
  return workflowId;
}

function printItem(item) {
  const calls = item.result.tool_calls.map(({ tool, arguments: input, result, error, duration_ms: ms }) => {
    const outcome = error === undefined ? JSON.stringify(result) : `failed: ${error.code}`;
    return `             ${tool}(${JSON.stringify(input)}) → ${outcome} (${ms} ms)`;
  });
  process.stdout.write(
    [
      '',
      `  ${item.agent_tier.padEnd(7)}  ${item.model_used}`,
      `  tools      ${calls.length === 0 ? 'none' : `${calls.length} call(s)`}`,
      ...calls,
      `  answer     ${item.output}`,
      `  tokens     ${item.tokens.prompt} in, ${item.tokens.completion} out, ${item.iterations} model call(s)`,
      `  cost       $${item.cost_usd}`,
      '',
    ].join('\n'),
  );
}

async function printBill() {
  const { months } = await commandLine(['usage', '--tenant', DEMO_TENANT], {
    env: { DATABASE_URL: stack.databaseUrl },
  });
  log('The bill of the tenant, from the database (the free tier is not billed):');
  for (const line of months) {
    process.stdout.write(
      `  ${line.month}  ${line.agent_tier.padEnd(7)} ${line.model_id.padEnd(28)} ${line.total_tokens.padStart(6)} tokens  $${line.total_cost_usd}\n`,
    );
  }
}

async function waitForInterrupt(workflowId) {
  const { email, password } = stack.n8n.owner;
  const address = `${stack.n8n.baseUrl}/workflow/${workflowId}/executions`;
  log(`The run is at ${address} (sign in as ${email} with ${password}). Press Ctrl-C to end.`);
  const waiting = setInterval(() => {}, 60_000);
  await new Promise((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
  clearInterval(waiting);
}
