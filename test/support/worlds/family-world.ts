import { type AgentDefinition, type AgentResult, createRuntime, type Runtime, type Tool } from '../../../runtime';
import { addTenant, giveTool } from '../servers/database';
import { sendJson, startServer, type TestServer } from '../servers/http-server';
import { type AgentFixture, aTask, echoTool, startAgentFixture, type TestTask } from '../values/agent-fixture';

/** A tenant's task, and a tool of the tenant that needs an approval. */
export interface Family {
  readonly task: TestTask;
  readonly pay: string;
}

interface TreeRow {
  readonly task_id: string;
  readonly run_id: string;
  readonly state: string;
  readonly attempt: number;
}

export interface FamilyWorld {
  readonly fixture: () => AgentFixture;
  /** `permissions` are those of other tools than the one to pay with. */
  readonly family: (settings?: object, decision?: 'ask' | 'allow', permissions?: object) => Promise<Family>;
  /** How often the server of the tool was asked. */
  readonly paid: (pay: string) => number;
  /** The runs of a task, its own first, by how far they are below it. */
  readonly tree: (taskId: string) => Promise<TreeRow[]>;
  /** Another runtime, with these agents. */
  readonly program: (agents: readonly AgentDefinition[]) => Runtime;
  /** Does it with another runtime, as another process would. */
  readonly elsewhere: <T>(work: (runtime: Runtime) => Promise<T>) => Promise<T>;
  /** All runs of the task count as lost from now on. */
  readonly loseLeases: (taskId: string) => Promise<unknown>;
}

/** Runs another task for its call. */
export const ask: Tool = {
  definition: { name: 'ask', description: 'Asks another', inputSchema: { type: 'object' } },
  parseInput: (value) => ({ ok: true, value }),
  isRepeatable: true,
  execute: ({ message }, context) => context.run.startChild({ message: message as string, agent_tier: 'pro' }, context),
};

export const asks = (message: string, id?: string) => ({ name: 'ask', arguments: { message }, id });

export const approve = (task: TestTask, { run_id }: Pick<AgentResult, 'run_id'>, decision = 'approve') => ({
  ...task,
  config: { ...task.config, approval: { run_id, decision } },
});

/** What tests of runs that work for other runs share: a tool that starts one, others of theirs, and a tool to pay with. */
export function familyWorld(others: readonly Tool[] = [], agents: readonly AgentDefinition[] = []): FamilyWorld {
  let fixture: AgentFixture;
  let server: TestServer;
  let next = 0;
  const tools = [echoTool, ask, ...others];
  beforeAll(async () => {
    fixture = await startAgentFixture(() => ({ tools, agents }));
    server = await startServer((_request, response) => sendJson(response, { sent: true }));
  });
  afterAll(() => Promise.all([fixture.close(), server.close()]));
  const program = (ofProgram: readonly AgentDefinition[]): Runtime =>
    createRuntime({
      database: { url: fixture.database.url },
      model: { apiKey: 'sk-test-key', baseUrl: fixture.models.url, maxRetries: 0 },
      plugins: { tools, agents: ofProgram },
    });
  return {
    fixture: () => fixture,
    family: async (settings = {}, decision = 'ask', permissions = {}) => {
      const pay = `pay_${next++}`;
      const tenantId = await addTenant(fixture.database, {
        settings: { tool_config: { tool_permissions: { ...permissions, [pay]: { decision } } }, ...settings },
      });
      await giveTool(fixture.database, tenantId, { code: pay, endpoint: server.url });
      return { task: aTask(tenantId), pay };
    },
    paid: (pay) => server.requests.filter(({ body }) => body.includes(`"tool":"${pay}"`)).length,
    tree: (taskId) =>
      fixture.database.query<TreeRow>(
        `SELECT task_id, run_id, state, attempt FROM elo_agent_runs WHERE task_id = $1 OR root_task_id = $1
         ORDER BY length(task_id)`,
        [taskId],
      ),
    program,
    elsewhere: async (work) => {
      const runtime = program(agents);
      return work(runtime).finally(() => runtime.close());
    },
    loseLeases: (taskId) =>
      fixture.database.query(
        `UPDATE elo_agent_runs SET lease_until = now() - interval '1 second'
         WHERE (task_id = $1 OR root_task_id = $1) AND state = 'running'`,
        [taskId],
      ),
  };
}
