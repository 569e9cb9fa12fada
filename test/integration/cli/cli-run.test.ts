import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { version } from '../../../package.json';
import type { AgentResult } from '../../../runtime';
import { addTenant, addTool, enableTool } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, gate, startAgentFixture } from '../../support/values/agent-fixture';
import { documentsTask } from '../../support/values/documents-task';
import { type CliOutcome, errorLine, runCli, startCli } from '../../support/worlds/cli';

const API_KEY = 'sk-or-v1-very-secret-key';
const TOOL_SECRET = 'tool-bearer-secret';

let agent: AgentFixture;
let tools: TestServer;
let folder: string;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  agent = await startAgentFixture();
  tools = await startServer((request, response) => {
    const { tool } = JSON.parse(request.body) as { tool: string };
    if (tool === 'leaky') return sendJson(response, { you_sent: request.headers.authorization }, 500);
    sendJson(response, tool === 'sql_query' ? { rows: 5 } : { sent: true });
  });
  for (const [sortOrder, code] of ['sql_query', 'mcp_telegram', 'leaky'].entries()) {
    const toolId = await addTool(agent.database, {
      code,
      endpoint: `${tools.url}/hook`,
      authHeader: `Bearer ${TOOL_SECRET}`,
      sortOrder,
    });
    await enableTool(agent.database, { tenantId: agent.tenantId, toolId });
  }
  folder = await mkdtemp(path.join(tmpdir(), 'universal-ai-agent-cli-'));
  env = { DATABASE_URL: agent.database.url, OPENROUTER_API_KEY: API_KEY, OPENROUTER_BASE_URL: agent.models.url };
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await tools.close();
  await agent.close();
});

/** What the documents' response shows, and the fields that this package adds. */
const documentsResponse = (taskId: string) => ({
  task_id: taskId,
  trace_id: 'trace_456',
  run_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
  status: 'completed',
  result: {
    text: 'I found 5 orders for client X...',
    tool_calls: [
      { tool: 'sql_query', arguments: { query: 'SELECT 1' }, result: { rows: 5 }, duration_ms: anInteger },
      { tool: 'mcp_telegram', arguments: { chat_id: '1', text: 'Hi' }, result: { sent: true }, duration_ms: anInteger },
    ],
  },
  model_used: 'openai/gpt-4o-mini',
  agent_tier: 'pro',
  iterations: 3,
  tokens: { prompt: 1250, completion: 340, total: 1590, cached: 0, cache_written: 0, reasoning: 0 },
  cost_usd: '0.00039150',
  duration_ms: anInteger,
  warnings: [
    {
      code: 'CALLBACK_NOT_DELIVERED',
      message: expect.stringContaining('Redis') as string,
      hint: 'Read the result from this output.',
    },
  ],
});
const anInteger = {
  asymmetricMatch: (value: unknown) => Number.isInteger(value) && Number(value) >= 0,
} as unknown as number;

function scriptDocumentsAnswer(): void {
  agent.models.script(
    toolReply([{ name: 'sql_query', arguments: { query: 'SELECT 1' } }], { prompt: 400, completion: 100 }),
    toolReply([{ name: 'mcp_telegram', arguments: { chat_id: '1', text: 'Hi' } }], { prompt: 400, completion: 100 }),
    textReply('I found 5 orders for client X...', { prompt: 450, completion: 140 }),
  );
}

const printed = ({ stdout }: CliOutcome) => JSON.parse(stdout) as AgentResult;
const runTask = (task: unknown) => runCli(['run', '--task', '-'], { env, input: JSON.stringify(task) });

it("answers the documents' request from standard input in the documents' shape", async () => {
  scriptDocumentsAnswer();
  const outcome = await runTask(documentsTask(agent.tenantId, { taskId: 'agent_123' }));
  expect(outcome).toMatchObject({ exitCode: 0, stderr: '' });
  expect(printed(outcome)).toEqual(documentsResponse('agent_123'));
  expect(agent.models.left()).toBe(0);
});

it("answers the documents' request from a file in the documents' shape", async () => {
  scriptDocumentsAnswer();
  const file = path.join(folder, 'task.json');
  await writeFile(file, JSON.stringify(documentsTask(agent.tenantId, { taskId: 'agent_124' })));
  const outcome = await runCli(['run', '--task', file], { env });
  expect(outcome).toMatchObject({ exitCode: 0, stderr: '' });
  expect(printed(outcome)).toEqual(documentsResponse('agent_124'));
});

it('runs a task from options', async () => {
  agent.models.script(textReply('Hello.'));
  const args = [
    'run',
    '--tenant',
    agent.tenantId,
    '--message',
    'Hi',
    '--tier',
    'optima',
    '--system-prompt',
    'Be short.',
  ];
  const outcome = await runCli(args, { env });
  expect(printed(outcome)).toMatchObject({ result: { text: 'Hello.' }, agent_tier: 'optima' });
  expect(agent.models.received.at(-1)?.messages).toEqual([
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: 'Hi' },
  ]);
});

describe('a failed run', () => {
  it('prints one error line of code, message and hint, and exits with 1', async () => {
    const outcome = await runTask({
      ...documentsTask(agent.tenantId, { taskId: 'agent_126' }),
      config: { agent_tier: 'gold', message: 'Hi' },
    });
    expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
    expect(outcome.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(Object.keys(errorLine(outcome))).toEqual(['code', 'message', 'hint']);
    expect(errorLine(outcome).code).toBe('TIER_UNKNOWN');
  });

  it('prints what was done and spent beside the error', async () => {
    agent.models.script(toolReply([{ name: 'sql_query' }], { prompt: 1250, completion: 340 }));
    const task = documentsTask(agent.tenantId, { taskId: 'agent_127' });
    const outcome = await runTask({ ...task, config: { ...task.config, max_iterations: 1 } });
    expect(outcome.exitCode).toBe(1);
    expect(errorLine(outcome).code).toBe('MAX_ITERATIONS_REACHED');
    expect(printed(outcome)).toMatchObject({ status: 'max_iterations', cost_usd: '0.00039150' });
  });

  it.each([
    ['is not JSON', '{"task_id": '],
    ['is empty', ''],
  ])('says so when the task %s', async (_what, input) => {
    const outcome = await runCli(['run', '--task', '-'], { env, input });
    expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
    expect(errorLine(outcome).code).toBe('INPUT_INVALID');
  });
});

describe('reads the bytes of a file and of standard input as the queue does', () => {
  const task = (): string =>
    JSON.stringify({ config: { message: 'Grüße', agent_tier: 'pro' }, meta: { tenant_id: agent.tenantId } });

  it.each(['a file', 'standard input'])(
    'with a byte order mark, and no other encoding than UTF-8: %s',
    async (door) => {
      const runBytes = async (input: Buffer): Promise<CliOutcome> => {
        const file = path.join(folder, 'bytes.json');
        await writeFile(file, input);
        return runCli(['run', '--task', door === 'a file' ? file : '-'], { env, input });
      };
      agent.models.script(textReply('Hello.'));
      expect(await runBytes(Buffer.from(`\ufeff${task()}\r\n`))).toMatchObject({ exitCode: 0, stderr: '' });
      const asked = agent.models.received.length;
      const outcome = await runBytes(Buffer.from(task(), 'latin1'));
      expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
      expect(errorLine(outcome)).toMatchObject({
        code: 'INPUT_INVALID',
        message: 'The task is not valid: the task is not UTF-8.',
      });
      expect(agent.models.received).toHaveLength(asked);
    },
  );
});

describe('wrong use', () => {
  it.each([
    ['no command', []],
    ['an unknown command', ['fly']],
    ['run without a task', ['run']],
    ['run with a message but no tenant', ['run', '--message', 'Hi']],
    ['a task file that is not there', ['run', '--task', '/does/not/exist.json']],
    ['usage by a word that it does not know', ['usage', 'summary', '--by', 'week']],
  ])('exits with 2 and says what is right: %s', async (_what, args) => {
    const outcome = await runCli(args, { env });
    expect(outcome).toMatchObject({ exitCode: 2, stdout: '' });
    expect(outcome.stderr).not.toBe('');
    expect(outcome.stderr).not.toMatch(/\n\s+at /);
  });

  it.each(['DATABASE_URL', 'OPENROUTER_API_KEY'])('names %s when it is not set', async (name) => {
    const { [name]: _left, ...rest } = env;
    const outcome = await runCli(['run', '--tenant', agent.tenantId, '--message', 'Hi'], { env: rest });
    expect(outcome).toMatchObject({ exitCode: 2, stdout: '' });
    expect(outcome.stderr).toContain(name);
  });

  it('shows all commands for --help, and exits with 0', async () => {
    const outcome = await runCli(['--help']);
    expect(outcome).toMatchObject({ exitCode: 0, stderr: '' });
    for (const command of ['run', 'diagnostics prepare-database', 'diagnostics schema', 'usage summary']) {
      expect(outcome.stdout).toContain(command);
    }
  });

  it('shows one command alone for its --help, and the version for --version', async () => {
    const help = await runCli(['usage', 'summary', '--help']);
    expect(help).toMatchObject({ exitCode: 0, stderr: '' });
    expect(help.stdout).toMatch(/^universal-ai-agent usage summary \[options\]/);
    expect(help.stdout).not.toContain('diagnostics prepare-database');
    expect(await runCli(['--version'])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
  });
});

it.each(['SIGINT', 'SIGTERM'] as const)('cancels and settles the run on %s', async (signal) => {
  const asked = gate();
  agent.models.script(toolReply([{ name: 'sql_query' }], { prompt: 1250, completion: 340 }), () => asked.open());
  const task = documentsTask(agent.tenantId, { taskId: `cancelled by ${signal}` });
  const run = startCli(['run', '--task', '-'], { env, input: JSON.stringify(task) });
  await asked.opened;
  run.process.kill(signal);
  const outcome = await run.ended;
  expect(outcome.exitCode).toBe(1);
  expect(errorLine(outcome).code).toBe('RUN_CANCELLED');
  expect(printed(outcome)).toMatchObject({ status: 'cancelled', cost_usd: '0.00039150' });
  expect(await agent.usageRows(task.task_id)).toMatchObject([{ total_tokens: 1590 }]);
  expect(await agent.runRow(task.task_id)).toMatchObject({ state: 'failed', lease_until: null });
});

it('prints what happens as JSON lines on standard error when it is asked to, without arguments or results', async () => {
  scriptDocumentsAnswer();
  const outcome = await runCli(['run', '--task', '-', '--events'], {
    env,
    input: JSON.stringify(documentsTask(agent.tenantId, { taskId: 'agent_128' })),
  });
  const events = outcome.stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string });
  expect(events[0]).toMatchObject({ type: 'run-start', taskId: 'agent_128', model: 'openai/gpt-4o-mini' });
  expect(events.at(-1)).toEqual({ type: 'run-end', status: 'completed', costUsd: '0.00039150' });
  expect(events.filter(({ type }) => type === 'tool-result')).toHaveLength(2);
  expect(outcome.stderr).not.toContain('SELECT 1');
  expect(printed(outcome)).toEqual(documentsResponse('agent_128'));
});

it('prints the answer of a model piece by piece, and nothing that a terminal would obey', async () => {
  const answer = `Two orders are open. ${'\u009b31mred\u202e '.repeat(20)}end.`;
  agent.models.script(textReply(answer));
  const task = JSON.stringify(documentsTask(agent.tenantId, { taskId: 'pieces' }));
  const outcome = await runCli(['run', '--task', '-', '--events'], { env, input: task });
  const events = outcome.stderr.trimEnd().split('\n');
  const pieces = events
    .map((line) => JSON.parse(line) as { type: string; text?: string })
    .filter(({ type }) => type === 'text-delta');
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.map(({ text }) => text).join('')).toBe(answer);
  expect(printed(outcome).result.text).toBe(answer);
  expect(outcome.stdout + outcome.stderr).not.toMatch(/[\u0080-\u009f\u202e]/);
});

describe('no secret is printed', () => {
  const secrets = () => [API_KEY, TOOL_SECRET, decodeURIComponent(new URL(agent.database.url).password)];
  const expectNone = ({ stdout, stderr }: CliOutcome) => {
    for (const secret of secrets()) expect(stdout + stderr).not.toContain(secret);
  };

  it('when the provider and a tool send them back', async () => {
    agent.models.script(toolReply([{ name: 'leaky' }]), {
      status: 400,
      body: { error: { message: `the key ${API_KEY} may not do this` } },
    });
    const outcome = await runCli(['run', '--task', '-', '--events'], {
      env,
      input: JSON.stringify(documentsTask(agent.tenantId, { taskId: 'agent_129' })),
    });
    expect(errorLine(outcome).code).toBe('LLM_BAD_REQUEST');
    expect(printed(outcome).result.tool_calls).toHaveLength(1);
    expectNone(outcome);
  });

  it('when the database refuses the password', async () => {
    const url = new URL(agent.database.url);
    url.password = 'another-secret-password';
    const outcome = await runCli(['usage', 'summary', '--tenant', agent.tenantId], { env: { DATABASE_URL: url.href } });
    expect(outcome.exitCode).toBe(1);
    expect(errorLine(outcome).code).toBe('DB_AUTH_FAILED');
    expect(outcome.stdout + outcome.stderr).not.toContain('another-secret-password');
  });
});

it('gives the answer and exits with 1 when its bill could not be written', async () => {
  const tenantId = await addTenant(agent.database);
  agent.models.script(async (_request, response) => {
    await agent.database.query('ALTER TABLE elo_t_token_usage RENAME TO elo_t_token_usage_away');
    sendJson(response, textReply('The answer.', { prompt: 1250, completion: 340 }).body);
  });
  const outcome = await runTask(documentsTask(tenantId, { taskId: 'agent_130' }));
  await agent.database.query('ALTER TABLE elo_t_token_usage_away RENAME TO elo_t_token_usage');
  expect(outcome.exitCode).toBe(1);
  expect(printed(outcome)).toMatchObject({ status: 'completed', result: { text: 'The answer.' } });
  expect(errorLine(outcome)).toMatchObject({
    code: 'LEDGER_WRITE_FAILED',
    message: expect.stringContaining('openai/gpt-4o-mini 1250+340 tokens $0.0003915') as string,
  });
});
