import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

import {
  type AgentResult,
  createRuntime,
  type Runtime,
  type RuntimePlugins,
  type ToolCallReport,
} from '../../../runtime';
import { addMcpServer, addTenant, type TestMcpServerRow, useMcpServer } from '../servers/database';
import { type McpServerOptions, type ServedTool, startMcpServer, type TestMcpServer } from '../servers/mcp-server';
import { type ModelServerRequest, textReply, toolReply } from '../servers/model-server';
import { type AgentFixture, aTask, startAgentFixture } from '../values/agent-fixture';

export interface Registration extends Partial<TestMcpServerRow> {
  /** Default: a new tenant. */
  readonly tenantId?: string;
  /** The tenant's own credential. */
  readonly ownAuth?: object;
  readonly isEnabled?: boolean;
}

export interface Registered {
  readonly tenantId: string;
  readonly serverId: number;
  /** The server's name, which stands before those of its tools. */
  readonly code: string;
}

type Definition = NonNullable<ModelServerRequest['tools']>[number]['function'];

export interface Offer {
  readonly result: AgentResult;
  readonly tools: readonly Definition[];
  readonly names: readonly string[];
  /** The codes of the run's warnings. */
  readonly codes: readonly string[];
}

export interface McpWorld {
  readonly fixture: () => AgentFixture;
  readonly aServer: (options?: Partial<McpServerOptions>) => Promise<TestMcpServer>;
  /** A runtime of its own, so that a test sees its own connections only. */
  readonly aRuntime: (plugins?: RuntimePlugins, modelUrl?: string) => Runtime;
  /** Registers a server and lets a tenant use it. */
  readonly register: (url: string, registration?: Registration) => Promise<Registered>;
  /** One run in which the model answers at once: what was it offered? */
  readonly offer: (runtime: Runtime, tenantId: string, config?: Record<string, unknown>) => Promise<Offer>;
  /** One run in which the model calls these tools in one step. */
  readonly run: (
    runtime: Runtime,
    tenantId: string,
    request: {
      readonly calls: readonly { readonly name: string; readonly arguments?: unknown }[];
      readonly signal?: AbortSignal;
    },
  ) => Promise<AgentResult>;
  /** The report of one call in a run of its own. */
  readonly call: (runtime: Runtime, tenantId: string, name: string) => Promise<ToolCallReport | undefined>;
  /** Closes something after the test. */
  readonly closeLater: (close: () => Promise<void>) => void;
}

/** A migrated database, a scripted model and real MCP servers, all of which end with their test. */
export function mcpWorld(): McpWorld {
  const open: (() => Promise<void>)[] = [];
  let fixture: AgentFixture;
  beforeAll(async () => {
    fixture = await startAgentFixture(() => ({ tools: [] }));
  });
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
  });
  afterAll(() => fixture.close());

  const run: McpWorld['run'] = (runtime, tenantId, { calls, signal }) => {
    fixture.models.script(toolReply(calls), textReply('Done'));
    return runtime.run(aTask(tenantId), { signal });
  };
  return {
    fixture: () => fixture,
    aServer: async (options = {}) => {
      const server = await startMcpServer({ answer: () => text('3 days'), ...options });
      open.push(server.close);
      return server;
    },
    aRuntime: (plugins, modelUrl = fixture.models.url) => {
      const runtime = createRuntime({
        database: { url: fixture.database.url, maxConnections: 2 },
        model: { apiKey: 'sk-test-key', baseUrl: modelUrl, maxRetries: 0 },
        plugins,
      });
      open.push(runtime.close);
      return runtime;
    },
    register: (url, registration) => registerServer(fixture, url, registration),
    offer: async (runtime, tenantId, config = {}) => {
      fixture.models.script(textReply('Done'));
      const task = aTask(tenantId, config);
      const result = await runtime.run(task);
      const tools = (fixture.modelCalls(task.task_id)[0]?.tools ?? []).map((tool) => tool.function);
      const codes = result.warnings.map(({ code }) => code);
      return { result, tools, names: tools.map(({ name }) => name), codes };
    },
    run,
    call: async (runtime, tenantId, name) => {
      const { result } = await run(runtime, tenantId, { calls: [{ name }] });
      return result.tool_calls[0];
    },
    closeLater: (close) => void open.push(close),
  };
}

let nextCode = 0;

async function registerServer(
  { database }: AgentFixture,
  url: string,
  { tenantId: given, ownAuth, isEnabled, ...server }: Registration = {},
): Promise<Registered> {
  const code = server.code ?? `server${nextCode++}`;
  const tenantId = given ?? (await addTenant(database));
  const serverId = await addMcpServer(database, { ...server, code, url });
  await useMcpServer(database, { tenantId, serverId, auth: ownAuth, isEnabled });
  return { tenantId, serverId, code };
}

export const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });

/** Tools of these names that take anything. */
export const named = (...names: readonly string[]): (() => readonly ServedTool[]) => {
  const tools = names.map((name) => ({ name, description: `Does ${name}` }));
  return () => tools;
};
