import { Client } from 'pg';

import type { AgentResult, Runtime } from '../../../runtime';
import { addTenant, addTool, enableTool } from '../servers/database';
import { sendJson, startServer, type TestServer } from '../servers/http-server';
import type { ModelServerRequest, ScriptedReply } from '../servers/model-server';
import { type AgentFixture, aTask, eventually, gate, startAgentFixture, type TestTask } from '../values/agent-fixture';
import { startCli } from './cli';

/** A row of elo_agent_model_calls, as far as it tells which calls ended. */
export interface CallRow {
  readonly step: number;
  readonly closed: boolean;
  readonly attempt: number;
}

export interface CrashWorld {
  readonly agent: () => AgentFixture;
  /** A new tenant with the tools `pay`, which must not be called twice, and `look`, which may. */
  readonly newTask: (settings?: object) => Promise<TestTask>;
  /** Runs the task in a process of its own until `isDown`, which kills it without a warning. */
  readonly runUntilKilled: (task: object, vaultKey?: string) => DyingRun;
  /** The task in this process, as soon as nobody holds it any more. */
  readonly runAgain: (task: TestTask, runtime?: Runtime) => Promise<AgentResult>;
  readonly letLeaseLapse: (taskId: string) => Promise<unknown>;
  /** Resolves when the outcome of a call of the tool, in the run of the task or below it, is on record. */
  readonly toolOnRecord: (tool: string, taskId: string) => Promise<true>;
  /** How often the server of the tools was asked for one of them. */
  readonly received: (tool: string, taskId: string) => number;
  /** The next call of a tool gets no answer until it is opened. */
  readonly holdTool: (tool: string) => { readonly asked: Promise<void>; readonly open: () => void };
  /** Nothing can be written of the task's run until the connections that try are ended. */
  readonly blockWrites: (taskId: string) => Promise<{ readonly endWriters: () => Promise<void> }>;
  readonly modelCallRows: (taskId: string) => Promise<CallRow[]>;
  readonly journalRows: (taskId: string) => Promise<{ step: number; entry: string; content: string }[]>;
  readonly codes: (taskId: string) => Promise<(string | null)[]>;
}

export interface DyingRun {
  readonly kill: () => Promise<void>;
}

/** What crash tests work with: tools on a server that counts, a scripted model, and processes to kill. */
export function crashWorld(): CrashWorld {
  let agent: AgentFixture;
  let server: TestServer;
  const held = new Map<string, { asked: () => void; opened: Promise<void> }[]>();
  const toolIds: number[] = [];

  beforeAll(async () => {
    agent = await startAgentFixture();
    server = await startServer(async ({ body }, response) => {
      const { tool, arguments: input } = JSON.parse(body) as { tool: string; arguments: unknown };
      const hold = held.get(tool)?.shift();
      hold?.asked();
      await hold?.opened;
      sendJson(response, { done: tool, input });
    });
    const schema = { type: 'object', properties: { n: { type: 'integer' } } };
    for (const code of ['pay', 'look']) {
      toolIds.push(await addTool(agent.database, { code, endpoint: server.url, schema }));
    }
    await agent.database.query(
      `UPDATE elo_agent_tools SET transport_config = '{"repeatable": true}' WHERE code = 'look'`,
    );
  });
  afterAll(() => Promise.all([agent.close(), server.close()]));

  const letLeaseLapse = (taskId: string) =>
    agent.database.query(
      `UPDATE elo_agent_runs SET lease_until = now() - interval '1 second' WHERE (task_id = $1 OR root_task_id = $1) AND state = 'running'`,
      [taskId],
    );
  return {
    agent: () => agent,
    newTask: async (settings = {}) => {
      const tenantId = await addTenant(agent.database, { settings });
      for (const toolId of toolIds) await enableTool(agent.database, { tenantId, toolId });
      return aTask(tenantId);
    },
    runUntilKilled: (task, vaultKey = '') => {
      const env = {
        DATABASE_URL: agent.database.url,
        OPENROUTER_API_KEY: 'sk-test-key',
        OPENROUTER_BASE_URL: agent.models.url,
        AGENT_VAULT_KEY: vaultKey,
      };
      const run = startCli(['run', '--task', '-'], { env, input: JSON.stringify(task) });
      return {
        kill: async () => {
          run.process.kill('SIGKILL');
          // Whoever ended by itself was not killed, and the test is about something else.
          expect(await run.ended).toMatchObject({ exitCode: null, stdout: '' });
        },
      };
    },
    runAgain: async (task, runtime = agent.runtime) => {
      await letLeaseLapse(task.task_id);
      return runtime.run(task);
    },
    letLeaseLapse,
    toolOnRecord: (tool, taskId) =>
      eventually(async () => {
        const rows = await agent.database.query(
          `SELECT FROM elo_agent_journal WHERE starts_with(task_id, $1) AND content LIKE $2 AND entry <> ''`,
          [taskId, `%"tool":"${tool}"%`],
        );
        return rows.length > 0 ? true : undefined;
      }),
    received: (tool, taskId) =>
      server.requests.filter(({ body }) => body.includes(`"tool":"${tool}"`) && body.includes(taskId)).length,
    holdTool: (tool) => {
      const asked = gate();
      const opened = gate();
      held.set(tool, [...(held.get(tool) ?? []), { asked: asked.open, opened: opened.opened }]);
      return { asked: asked.opened, open: opened.open };
    },
    blockWrites: async (taskId) => {
      const blocker = new Client({ connectionString: agent.database.url });
      await blocker.connect();
      await blocker.query('BEGIN');
      await blocker.query('SELECT FROM elo_agent_runs WHERE task_id = $1 FOR UPDATE', [taskId]);
      const waiting = `pid <> pg_backend_pid() AND datname = current_database() AND wait_event_type = 'Lock'`;
      return {
        endWriters: async () => {
          await blocker.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${waiting}`);
          await eventually(async () => {
            const { rows } = await blocker.query(`SELECT pid FROM pg_stat_activity WHERE ${waiting}`);
            return rows.length === 0 ? true : undefined;
          });
          await blocker.query('ROLLBACK');
          await blocker.end();
        },
      };
    },
    modelCallRows: (taskId) =>
      agent.database.query<CallRow>(
        `SELECT step, closed_at IS NOT NULL AS closed, dense_rank() OVER (ORDER BY first.at)::int AS attempt
         FROM elo_agent_model_calls AS call,
           LATERAL (SELECT min(opened_at) AS at FROM elo_agent_model_calls WHERE run_id = call.run_id) AS first
         WHERE task_id = $1 ORDER BY 3, 1`,
        [taskId],
      ),
    journalRows: (taskId) =>
      agent.database.query('SELECT step, entry, content FROM elo_agent_journal WHERE task_id = $1 ORDER BY 1, 2', [
        taskId,
      ]),
    codes: async (taskId) => {
      const rows = await agent.database.query<{ code: string | null }>(
        'SELECT code FROM elo_tool_executions WHERE task_id = $1 ORDER BY id',
        [taskId],
      );
      return rows.map(({ code }) => code);
    },
  };
}

/** A reply of the model that is held back until the process that waits for it is gone. */
export function neverAnswered(): { readonly reply: ScriptedReply; readonly asked: Promise<void> } {
  const asked = gate();
  return { reply: () => asked.open(), asked: asked.opened };
}

/** Throws unless every tool call in a request has exactly one answer, right behind the message that made it. */
export function assertPaired({ messages }: ModelServerRequest): void {
  const open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      const place = open.indexOf(message.tool_call_id ?? '');
      if (place < 0) throw new Error(`there is no call ${message.tool_call_id}`);
      open.splice(place, 1);
      continue;
    }
    if (open.length > 0) throw new Error(`the calls ${open.join(', ')} have no answer`);
    open.push(...(message.tool_calls ?? []).map(({ id }) => id));
  }
  if (open.length > 0) throw new Error(`the calls ${open.join(', ')} have no answer`);
}

/** The tool messages of a request. */
export function toolTexts({ messages }: ModelServerRequest): string[] {
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content ?? '');
}
