import type { ServerResponse } from 'node:http';

import type { RunEvent, RunOptions, Tool } from '../../../runtime';
import { type AgentResult, createRuntime, type Runtime, type RuntimeConfig, type RuntimeError } from '../../../runtime';
import { addTenant, giveTool, type TestTool } from '../servers/database';
import { type ReceivedRequest, sendJson, startServer, type TestServer } from '../servers/http-server';
import type { ModelServerRequest, ScriptedReply } from '../servers/model-server';
import { type AgentFixture, aTask, startAgentFixture, type UsageRow } from '../values/agent-fixture';

/** A request that a tool's server got: what was really executed. */
export interface Executed {
  readonly path: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly tenantId: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly authorization: string | undefined;
}

export interface CallRow {
  readonly call_no: number;
  readonly model_requested: string;
  readonly model_returned: string | null;
  readonly model_billed: string | null;
  readonly prompt_tokens: string | null;
  readonly completion_tokens: string | null;
  readonly cost_exact: string | null;
  readonly cost_basis: string | null;
  readonly usage_estimated: boolean;
  readonly provider_cost_usd: string | null;
  readonly provider_request_id: string | null;
  readonly unanswered_requests: number | null;
  readonly error_code: string | null;
  readonly closed_at: Date | null;
}

export interface ExecutionRow {
  readonly tool: string;
  readonly tool_call_id: string;
  readonly arguments: unknown;
  readonly decision: string;
  readonly is_error: boolean;
  readonly code: string | null;
}

/** Everything that one run left behind. */
export interface Aftermath {
  readonly tenantId: string;
  readonly taskId: string;
  /** Of the run, or of its error. */
  readonly result: AgentResult | undefined;
  readonly error: RuntimeError | undefined;
  /** What the provider was sent in this run. */
  readonly sent: readonly ModelServerRequest[];
  readonly executed: readonly Executed[];
  readonly bill: readonly UsageRow[];
  readonly calls: readonly CallRow[];
  readonly executions: readonly ExecutionRow[];
  readonly events: readonly RunEvent[];
  readonly state: string | undefined;
}

export type HostileTool = Partial<TestTool> & { readonly code: string; readonly customConfig?: object };

export interface Attack {
  readonly replies?: readonly ScriptedReply[];
  /** Given to a new tenant, with an endpoint that answers by `answer`. */
  readonly tools?: readonly HostileTool[];
  readonly settings?: object;
  readonly config?: Record<string, unknown>;
  readonly tenantId?: string;
  readonly runtime?: Runtime;
  readonly options?: RunOptions;
}

export interface HostileWorld {
  readonly fixture: () => AgentFixture;
  readonly hooks: () => TestServer;
  /** What the tools' server answers from now on, until the end of the test. */
  readonly answer: (answer: (request: ReceivedRequest, response: ServerResponse) => unknown) => void;
  /** A runtime of its own that the end of the test closes. */
  readonly aRuntime: (config?: Omit<RuntimeConfig, 'database'> & { readonly maxRetries?: number }) => Runtime;
  readonly attack: (attack: Attack) => Promise<Aftermath>;
  /** Requests that the model provider got so far. */
  readonly modelCalls: () => number;
}

/** A migrated database, a scripted provider and a server of tools, and one call that tells all that a run did. */
export function hostileWorld(plugins: readonly Tool[] = []): HostileWorld {
  const open: Runtime[] = [];
  let now: { readonly fixture: AgentFixture; readonly hooks: TestServer };
  let answering: Parameters<HostileWorld['answer']>[0] = echoArguments;
  beforeAll(async () => {
    const fixture = await startAgentFixture(() => ({ tools: plugins }));
    now = { fixture, hooks: await startServer((request, response) => void answering(request, response)) };
  });
  afterEach(async () => {
    answering = echoArguments;
    await Promise.all(open.splice(0).map((runtime) => runtime.close()));
    // Codes are unique in the catalogue, and every test names its tools as it likes.
    for (const table of ['elo_agent_tools', 'elo_agent_mcp_servers']) {
      await now.fixture.database.query(`DELETE FROM ${table}`);
    }
  });
  afterAll(() => Promise.all([now.fixture.close(), now.hooks.close()]));

  const attack = async (given: Attack): Promise<Aftermath> => {
    const { fixture, hooks } = now;
    const tenantId = given.tenantId ?? (await addTenant(fixture.database, { settings: given.settings }));
    for (const tool of given.tools ?? []) {
      await giveTool(fixture.database, tenantId, { endpoint: `${hooks.url}/${tool.code}`, ...tool });
    }
    if (given.replies !== undefined) fixture.models.script(...given.replies);
    const before = { sent: fixture.models.received.length, executed: hooks.requests.length };
    const events: RunEvent[] = [];
    const task = aTask(tenantId, given.config);
    const onEvent = (event: RunEvent): void => void events.push(event);
    const { result, error } = await endOf((given.runtime ?? fixture.runtime).run(task, { onEvent, ...given.options }));
    return {
      ...{ tenantId, taskId: task.task_id, result, error, events },
      sent: fixture.models.received.slice(before.sent),
      executed: hooks.requests.slice(before.executed).map(toExecuted),
      ...(await recordsOf(fixture, task.task_id)),
    };
  };
  return {
    attack,
    fixture: () => now.fixture,
    hooks: () => now.hooks,
    modelCalls: () => now.fixture.models.requests.length,
    answer: (next) => {
      answering = next;
    },
    aRuntime: ({ maxRetries = 0, ...config } = {}) => {
      const { fixture } = now;
      const runtime = createRuntime({
        database: { url: fixture.database.url, maxConnections: 4 },
        model: { apiKey: 'sk-test-key', baseUrl: fixture.models.url, maxRetries },
        plugins: { tools: plugins },
        ...config,
      });
      open.push(runtime);
      return runtime;
    },
  };
}

async function endOf(running: Promise<AgentResult>): Promise<Pick<Aftermath, 'result' | 'error'>> {
  try {
    return { result: await running, error: undefined };
  } catch (thrown) {
    const error = thrown as RuntimeError;
    return { result: error.result as AgentResult | undefined, error };
  }
}

async function recordsOf(
  { database, usageRows }: AgentFixture,
  taskId: string,
): Promise<Pick<Aftermath, 'bill' | 'calls' | 'executions' | 'state'>> {
  const [row] = await database.query<{ state: string }>('SELECT state FROM elo_agent_runs WHERE task_id = $1', [
    taskId,
  ]);
  return {
    bill: await usageRows(taskId),
    calls: await database.query<CallRow>('SELECT * FROM elo_agent_model_calls WHERE task_id = $1 ORDER BY call_no', [
      taskId,
    ]),
    executions: await database.query<ExecutionRow>('SELECT * FROM elo_tool_executions WHERE task_id = $1 ORDER BY id', [
      taskId,
    ]),
    state: row?.state,
  };
}

function toExecuted({ path, headers, body }: ReceivedRequest): Executed {
  const { tool, arguments: given, tenant_id: tenantId, meta } = JSON.parse(body) as HookBody;
  return { path, tool, arguments: given, tenantId, meta, authorization: headers.authorization };
}

interface HookBody {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly tenant_id: string;
  readonly meta: Readonly<Record<string, unknown>>;
}

function echoArguments({ body }: ReceivedRequest, response: ServerResponse): void {
  sendJson(response, { got: (JSON.parse(body) as HookBody).arguments });
}

/** What the model was told in answer to its tool calls, in the last request of the run. */
export function told({ sent }: Pick<Aftermath, 'sent'>): string[] {
  const { messages = [] } = sent.at(-1) ?? {};
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content ?? '');
}

/** The codes of the errors that it was told; undefined where it was told none. */
export function toldCodes(aftermath: Pick<Aftermath, 'sent'>): (string | undefined)[] {
  return told(aftermath).map((text) => (JSON.parse(text) as { error?: { code?: string } } | null)?.error?.code);
}

/** The codes of the warnings that a run gave back. */
export const warned = ({ result }: Pick<Aftermath, 'result'>): string[] =>
  (result?.warnings ?? []).map(({ code }) => code);

/** A scripted reply with the given message in it, however malformed. */
export function rawReply(
  message: unknown,
  finishReason: unknown = 'stop',
  rest: object = {},
): { readonly body: object } {
  return {
    body: {
      id: 'gen-raw',
      choices: [{ index: 0, message, finish_reason: finishReason }],
      usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
      ...rest,
    },
  };
}

/** A reply that asks for one tool, with the arguments exactly as given. */
export function callReply(
  name: unknown,
  given: unknown,
  finishReason: unknown = 'tool_calls',
): { readonly body: object } {
  const call = { id: 'call_raw', type: 'function', function: { name, arguments: given } };
  return rawReply({ role: 'assistant', content: null, tool_calls: [call] }, finishReason);
}

/** What 100 and 20 tokens of the tier `pro` cost: so much is every scripted call. */
export const COST_OF_ONE = 0.000027;
