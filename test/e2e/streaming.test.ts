import { addTenant, addTool, createMigratedDatabase, enableTool, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer, type TestServer } from '../support/servers/http-server';
import {
  type ModelServer,
  type ScriptedReply,
  startModelServer,
  textReply,
  toolReply,
} from '../support/servers/model-server';
import { sendStream } from '../support/servers/stream-reply';
import { eventually } from '../support/values/agent-fixture';
import { chatModel, connectedWorkflow } from './support/connected';
import {
  addModelCredential,
  addPostgresCredential,
  agentWorkflow,
  connect,
  type Credential,
  ended,
  FIELDS,
  lastExecutionId,
  type N8n,
} from './support/host';
import { piecesOf, publishStreaming, stopInTheMiddle } from './support/streams';

const ANSWER = 'Ada has two orders. The first one, 1001, was shipped on Monday; the second one is in production.';
const MODEL = 'anthropic/claude-3-haiku';

let n8n: N8n;
let database: TestDatabase;
let models: ModelServer;
let http: TestServer;
let credentials: { readonly openRouterApi: Credential; readonly postgres: Credential };
let tenant: string;

beforeAll(async () => {
  n8n = await connect();
  [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  http = await startServer((_request, response) => sendJson(response, { orders: [1001, 1002] }));
  credentials = {
    openRouterApi: await addModelCredential(n8n, { apiKey: 'sk-or-streaming', url: models.url }),
    postgres: await addPostgresCredential(n8n, database.url),
  };
  tenant = await addTenant(database);
  await enableTool(database, {
    tenantId: tenant,
    toolId: await addTool(database, { code: 'orders', endpoint: http.url }),
  });
});
afterAll(() => Promise.all([models.close(), http.close(), database.close()]));

/** In pieces so slow that none waits for another one, as far as pieces are asked for. */
function slowly({ body }: { readonly body: unknown }): ScriptedReply {
  return ({ stream }, response) =>
    stream === true ? sendStream(response, body as object, { size: 800, delayMs: 150 }) : sendJson(response, body);
}

const converse = (): void =>
  models.script(slowly(toolReply([{ name: 'orders' }], { prompt: 310, completion: 20 })), slowly(textReply(ANSWER)));
const question = (): object => ({ items: [{ tenant, tier: 'pro', message: 'Which orders?' }] });

interface Answered {
  readonly pieces: readonly string[];
  readonly item: Record<string, unknown>;
}

async function ask(workflow: ReturnType<typeof agentWorkflow>): Promise<Answered> {
  converse();
  const id = await publishStreaming(n8n, workflow);
  const pieces = piecesOf((await n8n.callWebhook(workflow.name, question())).text);
  const { data } = await ended(n8n, await lastExecutionId(n8n, id));
  const [[item] = []] = Object.values(data.resultData.runData).at(-1)?.[0].data.main ?? [];
  return { pieces, item: (item?.json ?? {}) as Answered['item'] };
}

it('a connected chat model streams, and its bill is that of the whole', async () => {
  const agent = (path: string): Parameters<typeof connectedWorkflow>[0] => ({
    path,
    agent: { type: 'n8n-nodes-universal-ai-agent.universalAiAgent', typeVersion: 4, parameters: FIELDS },
    credentials: { postgres: credentials.postgres },
    subNodes: [chatModel(credentials.openRouterApi, MODEL)],
  });
  const { pieces, item } = await ask(connectedWorkflow(agent('wired-stream')));
  expect(pieces.join('')).toBe(ANSWER);
  expect(pieces.length).toBeGreaterThanOrEqual(3);

  converse();
  const whole = connectedWorkflow(agent('wired-whole'));
  const { id } = await n8n.createWorkflow(whole);
  await n8n.activate(id);
  const [same] = (await n8n.callWebhook('wired-whole', question())).json as readonly Record<string, unknown>[];
  const facts = ({
    output,
    status,
    model_used,
    tokens,
    cost_usd,
    warnings,
  }: Record<string, unknown> = {}): unknown => ({
    ...{ output, status, model_used, tokens, cost_usd, warnings },
  });
  expect(facts(item)).toEqual(facts(same));
  expect(item).toMatchObject({
    output: ANSWER,
    model_used: MODEL,
    tokens: { prompt: 410, completion: 40 },
    warnings: [],
  });
});

it('ends with the execution that is stopped in the middle of an answer, and bills what was written', async () => {
  const path = 'stopped-stream';
  const id = await publishStreaming(n8n, agentWorkflow({ path, parameters: FIELDS, credentials }));
  expect(await stopInTheMiddle(n8n, { models, workflow: { id, path }, body: question() })).toBe('canceled');
  const lines = await eventually(async () => {
    const found = await database.query(
      `SELECT line.completion_tokens > 0 AS written FROM elo_agent_runs AS run
       JOIN elo_t_token_usage AS line USING (tenant_id, task_id) WHERE run.state = 'failed'`,
    );
    return found.length > 0 ? found : undefined;
  });
  expect(lines).toEqual([{ written: true }]);
});
