import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import {
  addTenant,
  addTool,
  createMigratedDatabase,
  enableTool,
  type TestDatabase,
} from '../../support/servers/database';
import { sendJson, startServer } from '../../support/servers/http-server';
import {
  type ModelServer,
  type ModelServerRequest,
  startModelServer,
  textReply,
  toolReply,
} from '../../support/servers/model-server';
import { chatModel, connectedWorkflow, type SubNode } from './connected';
import { addModelCredential, addPostgresCredential, type Credential, type N8n } from './host';

const LC = '@n8n/n8n-nodes-langchain';
const PROMPTS = { promptType: 'define', text: '={{ $json.message }}', options: { maxIterations: 20 } };

/** Its parameters hold what schemas of zod lose. */
export const SCHEMA = {
  type: 'object',
  $defs: { no: { type: 'integer', minimum: 0 } },
  properties: { no: { $ref: '#/$defs/no' }, tenant: { type: 'string' } },
  required: ['no'],
};

interface Sent {
  readonly tenant_id: string;
  readonly arguments: { readonly no: number; readonly tenant?: string };
}

/** Two tenants with a tool of the same name, for nodes of n8n that are given it by Tenant Tools. */
export interface Stock {
  readonly database: TestDatabase;
  readonly models: ModelServer;
  readonly ann: string;
  readonly bob: string;
  /** Adds a tenant with these settings. */
  readonly tenant: (settings: object) => Promise<string>;
  /** Puts US dollars on the bill of a tenant. */
  readonly spend: (tenant: string, usd: number) => Promise<unknown>;
  /** What the tool was sent since the last `forget`. */
  readonly sent: () => readonly Sent[];
  readonly forget: () => void;
  readonly model: (more?: Partial<SubNode>) => SubNode;
  readonly tenantTools: (tenant: string, more?: Partial<SubNode>) => SubNode;
  readonly tenantModel: (tenant: string, more?: Partial<SubNode>) => SubNode;
  /** Publishes a workflow of n8n's AI Agent under the path `name`. */
  readonly publish: (name: string, version: number, subNodes: readonly SubNode[]) => Promise<string>;
  readonly ask: (path: string, tenant: string, message?: string) => Promise<string>;
  /** Publishes the tools as an MCP server under the path. */
  readonly serve: (path: string, tenant: string, more?: Partial<SubNode>) => Promise<void>;
  readonly connect: (path: string, headers: Readonly<Record<string, string>>) => Promise<Client>;
  readonly postgres: Credential;
  readonly openRouterApi: Credential;
  /** Asks agents of both tenants, whose models ask for the tools of the other one in every way that there is. */
  readonly storm: (path: string, executions: number) => Promise<void>;
  readonly close: () => Promise<unknown>;
}

/** Calls in each of the two replies of a model in a storm. */
const CALLS = 10;

export async function startStock(n8n: N8n): Promise<Stock> {
  const [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  const server = await startServer(({ body }, response) => {
    const { tenant_id: tenant, arguments: input } = JSON.parse(body) as Sent;
    sendJson(response, { tenant, input });
  });
  const openRouterApi = await addModelCredential(n8n, { apiKey: 'sk-or-stock', url: models.url });
  const postgres = await addPostgresCredential(n8n, database.url);
  const [ann, bob] = await Promise.all([addTenant(database, { name: 'Ann' }), addTenant(database, { name: 'Bob' })]);
  const toolId = await addTool(database, { code: 'stock', endpoint: server.url, schema: SCHEMA });
  for (const tenantId of [ann, bob]) await enableTool(database, { tenantId, toolId });

  const sent = (): Sent[] => server.requests.map(({ body }) => JSON.parse(body) as Sent);
  const tenantTools = tenantToolsWith(postgres);
  const tenantModel: Stock['tenantModel'] = (tenant, more) => ({
    ...{ name: 'Tenant Model', type: 'n8n-nodes-universal-ai-agent.tenantModel', version: 1 },
    output: 'ai_languageModel',
    parameters: { tenantId: { __rl: true, mode: 'id', value: tenant }, tier: 'pro' },
    credentials: { openRouterApi, postgres },
    ...more,
  });
  const ask: Stock['ask'] = async (path, tenant, message = 'How many?') => {
    const reply = await n8n.callWebhook(path, { items: [{ tenant, message }] });
    const [answer] = Array.isArray(reply.json) ? (reply.json as { output: string }[]) : [];
    if (answer === undefined) throw new Error(`HTTP ${reply.status}: ${reply.text.slice(0, 1000)}`);
    return answer.output;
  };
  return {
    ...{ database, models, ann, bob, sent, tenantTools, tenantModel, ask, postgres, openRouterApi },
    tenant: (settings) => addTenant(database, { settings }),
    spend: (tenant, usd) =>
      database.query(
        `INSERT INTO elo_t_token_usage (tenant_id, task_id, model_id, agent_tier, task_type, cost_usd)
         VALUES ($1, 'spent', 'openai/gpt-4o-mini', 'pro', 'ai_agent', $2)`,
        [tenant, usd],
      ),
    forget: () => {
      models.received.length = 0;
      server.requests.length = 0;
    },
    model: (more) => chatModel(openRouterApi, 'openai/gpt-4o-mini', more),
    publish: async (path, typeVersion, subNodes) => {
      const agent = { type: `${LC}.agent`, typeVersion, parameters: PROMPTS };
      const { id } = await n8n.createWorkflow(connectedWorkflow({ path, agent, credentials: {}, subNodes }));
      await n8n.activate(id);
      return id;
    },
    serve: async (path, tenant, more) => {
      const { id } = await n8n.createWorkflow(servedBy(path, tenantTools(tenant, more)));
      await n8n.activate(id);
    },
    connect: async (path, headers) => {
      const client = new Client({ name: 'a-client', version: '1' });
      const url = new URL(`${n8n.baseUrl}/mcp/${path}`);
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
      return client;
    },
    storm: async (path, executions) => {
      models.always((request) => twoRounds(request, [ann, bob]));
      const tenants = Array.from({ length: executions }, (_, index) => (index % 2 === 0 ? ann : bob));
      await Promise.all(tenants.map((tenant) => ask(path, tenant, `for ${tenant}`)));
    },
    close: () => Promise.all([models.close(), server.close(), database.close()]),
  };
}

function tenantToolsWith(postgres: Credential): Stock['tenantTools'] {
  return (tenant, more) => ({
    name: 'Tenant Tools',
    type: 'n8n-nodes-universal-ai-agent.tenantTools',
    version: 1,
    output: 'ai_tool',
    parameters: { tenantId: { __rl: true, mode: 'id', value: tenant } },
    credentials: { postgres },
    ...more,
  });
}

function servedBy(path: string, { name, type, version, credentials, parameters }: SubNode): Record<string, unknown> {
  const trigger = {
    ...{ id: `${path}-mcp`, name: 'MCP', type: `${LC}.mcpTrigger`, typeVersion: 2.1, position: [0, 0] },
    ...{ webhookId: path, parameters: { path } },
  };
  const node = { id: `${path}-tools`, name, type, typeVersion: version, position: [0, 200], parameters, credentials };
  return {
    ...{ name: path, nodes: [trigger, node], settings: { executionOrder: 'v1' }, pinData: {} },
    connections: { [name]: { ai_tool: [[{ node: 'MCP', type: 'ai_tool', index: 0 }]] } },
  };
}

/** Asks for tools twice, then answers; an agent that has a helper has it do so. */
function twoRounds({ messages, tools = [] }: ModelServerRequest, [ann, bob]: readonly [string, string]): unknown {
  const helper = tools.find(({ function: { name } }) => name === 'Helper')?.function.name;
  const told = messages.filter(({ role }) => role === 'tool');
  if (told.length >= (helper === undefined ? 2 * CALLS : 1)) return textReply('done').body;
  const asked = messages.find(({ role }) => role === 'user')?.content ?? '';
  const tenant = asked.includes(ann) ? bob : ann;
  const written = { tenant, tenantId: tenant, body: { items: [{ tenant }] }, headers: { 'x-tenant': tenant } };
  if (helper !== undefined) return toolReply([{ name: helper, arguments: { ...written, question: asked } }]).body;
  const calls = Array.from({ length: CALLS }, (_, index) => ({ no: told.length + index, ...written }));
  return toolReply(calls.map((input) => ({ name: 'stock', arguments: input }))).body;
}

/** The calls that were made for the tenant that a model wrote. */
export function mixedUp(stock: Pick<Stock, 'sent'>): readonly Sent[] {
  return stock.sent().filter(({ tenant_id: tenant, arguments: input }) => tenant === input.tenant);
}
