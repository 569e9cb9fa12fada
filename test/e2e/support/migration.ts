import type { ServerResponse } from 'node:http';

import type { Migration, MigrationOptions, Workflow, WorkflowNode } from '../../../runtime/workflow-migration/contract';
import { migrateWorkflow } from '../../../runtime/workflow-migration/migrate-workflow';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { type ServedTool, startMcpServer } from '../../support/servers/mcp-server';
import { type ModelServerRequest, textReply, toolReply } from '../../support/servers/model-server';
import { optionsOf, WORKFLOW_FIXTURES } from '../../support/workflows/workflow-fixtures';
import type { WorkflowFixture } from '../../support/workflows/workflow-parts';
import { addModelCredential, addPostgresCredential, type Credential, ended, type N8n } from './host';
import { answerToConversational } from './old-agents';

/** The servers and credentials that every fixture runs with. */
export interface MigrationWorld {
  readonly n8n: N8n;
  readonly received: ModelServerRequest[];
  readonly tools: TestServer;
  /** What stands for the fixtures' example addresses and credentials. */
  readonly real: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
}

export async function startWorld(n8n: N8n): Promise<MigrationWorld> {
  const received: ModelServerRequest[] = [];
  const models = await startServer((raw, response) => {
    const request = JSON.parse(raw.body) as ModelServerRequest & { readonly stream?: boolean };
    received.push(request);
    const status = statusFor(request);
    if (status === 200) return answer(response, reply(request), request.stream === true);
    sendJson(response, { error: { message: `told to fail with ${status}` } }, status);
  });
  const url = `${models.url}/v1`;
  const tools: TestServer = await startServer((request, response) => sendJson(response, { asked: request.path }));
  const mcp = await startMcpServer({
    answer: () => ({ content: [{ type: 'text', text: 'echoed' }] }),
    tools: () => [ECHO, { ...ECHO, name: 'other' }],
  });
  const openRouter = await addModelCredential(n8n, { apiKey: 'sk-or-migration', url });
  const openAi = await n8n.createCredential({
    name: 'OpenAI',
    type: 'openAiApi',
    data: { apiKey: 'sk-migration', url },
  });
  const colleague = await n8n.createWorkflow(COLLEAGUE);
  await n8n.activate(colleague.id);
  return {
    n8n,
    received,
    tools,
    real: {
      'http://tools.example.com': tools.url,
      'http://mcp.example.com/mcp': mcp.url,
      'credential-openrouter': openRouter.id,
      'credential-openai': openAi,
      'workflow-colleague': colleague.id,
    },
    close: async () => {
      await Promise.all([models.close(), tools.close(), mcp.close()]);
    },
  };
}

const ECHO: ServedTool = {
  name: 'echo',
  description: 'Says it again',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
};

/** A workflow that agents call as a tool. */
const COLLEAGUE = {
  name: 'Colleague',
  nodes: [
    {
      id: 'colleague-1',
      name: 'Asked',
      type: 'n8n-nodes-base.executeWorkflowTrigger',
      typeVersion: 1.1,
      position: [0, 0],
      parameters: { inputSource: 'passthrough' },
    },
  ],
  connections: {},
};

/** Agents before version 2 ask for a stream, and get it in one piece. */
function answer(response: ServerResponse, body: unknown, isStream: boolean): void {
  if (!isStream) return sendJson(response, body);
  const { choices = [], ...rest } = body as {
    readonly choices?: readonly { readonly message: { tool_calls?: object[] } }[];
  };
  const chunks = choices.map(({ message, ...choice }) => ({
    ...choice,
    delta: { ...message, tool_calls: message.tool_calls?.map((call, index) => ({ ...call, index })) },
  }));
  response.setHeader('content-type', 'text/event-stream');
  response.end(
    `data: ${JSON.stringify({ ...rest, object: 'chat.completion.chunk', choices: chunks })}\n\ndata: [DONE]\n\n`,
  );
}

/** A system prompt that says `Fail with 401` gets it. */
function statusFor(request: ModelServerRequest): number {
  return Number(/Fail with (\d{3})/.exec(systemOf(request))?.[1] ?? 200);
}

/** The same answer to the same request; the last tool by name is called once, where there are tools. Some models are broken. */
function reply(request: ModelServerRequest): unknown {
  const { model } = request;
  const asked = textOf(request.messages.filter(({ role }) => role === 'user').at(-1)?.content);
  const system = systemOf(request);
  if (model.includes('broken') || (system.includes('You fail') && model.includes('qwen3-8b'))) {
    return { error: { code: 400, message: 'no' } };
  }
  if (model.includes('fixer')) return textReply(FIXED).body;
  const spared = system.includes('tools for pro only') && !asked.includes('pro');
  const call = spared ? undefined : toolCall(request, system);
  return call ?? textReply(answerToConversational(request) ?? `${model} answers ${asked}`).body;
}

function toolCall(request: ModelServerRequest, system: string): unknown {
  const { function: tool } = byName(request).at(-1) ?? {};
  if (tool === undefined || request.messages.at(-1)?.role !== 'user') return undefined;
  const given = system.includes('wrong form') ? { output: {} } : argumentsFor(tool.parameters);
  return toolReply([{ name: tool.name, arguments: given }]).body;
}

function systemOf({ messages }: ModelServerRequest): string {
  return textOf(messages.find(({ role }) => role === 'system')?.content);
}

/** What a model makes of an answer of the wrong form. */
const FIXED = JSON.stringify({ output: { city: 'Ada' } });

function argumentsFor(schema: unknown): object {
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, unknown>> };
  const typeOf = (of: unknown): unknown => (of as { readonly type?: unknown } | null)?.type;
  const valueFor = (of: unknown): unknown => (typeOf(of) === 'object' ? argumentsFor(of) : 'Ada');
  const given = Object.entries(properties).filter(([, of]) => typeOf(of) !== 'array');
  return Object.fromEntries(given.map(([name, of]) => [name, valueFor(of)]));
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map((part) => (part as { text?: string }).text ?? '').join('') : '';
}

/** A fixture with the addresses and credentials of the world. */
export function realFixture(world: MigrationWorld, name: string): WorkflowFixture {
  const fixture = WORKFLOW_FIXTURES[name];
  if (fixture === undefined) throw new Error(`no fixture ${name}`);
  return { ...fixture, workflow: filledIn(world, fixture.workflow) };
}

export function filledIn(world: MigrationWorld, workflow: Workflow): Workflow {
  const entries = Object.entries(world.real);
  return JSON.parse(
    entries.reduce((text, [from, to]) => text.replaceAll(from, to), JSON.stringify(workflow)),
  ) as Workflow;
}

export interface Observed {
  /** What the model server was sent, in the order of the messages. */
  readonly requests: readonly SeenRequest[];
  /** What the tool server was sent. */
  readonly asked: readonly string[];
  /** What the nodes without a successor gave, by their names, in the order of `n`. */
  readonly answers: Readonly<Record<string, readonly object[]>>;
}

interface SeenRequest {
  readonly model: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
  readonly system: string;
  readonly user: readonly string[];
  readonly roles: readonly string[];
  readonly tools: readonly object[];
}

/** Saves the workflow, runs it on its pinned items, and tells what was seen. */
export async function observe(world: MigrationWorld, workflow: Workflow): Promise<Observed> {
  const { id } = await world.n8n.createWorkflow({ ...workflow, name: workflow.name ?? '' });
  return observeSaved(world, { ...workflow, id });
}

/** The same for one that is saved already. */
export async function observeSaved(
  { n8n, received, tools }: MigrationWorld,
  workflow: Workflow & { readonly id: string },
): Promise<Observed> {
  received.length = 0;
  tools.requests.length = 0;
  const { status, data } = await ended(n8n, await n8n.runManually(workflow.id, 'Start'));
  if (status !== 'success') throw new Error(`${status}: ${JSON.stringify(data.resultData.error)}`);
  const runData = data.resultData.runData as unknown as Readonly<Record<string, readonly NodeRun[]>>;
  const last = workflow.nodes.filter((node) => isLast(workflow, node));
  const answers = last.map(({ name }) => [name, sorted((runData[name] ?? []).flatMap(itemsOf))] as const);
  return {
    requests: sorted(received.map(seen)),
    asked: sorted(tools.requests.map(({ method, path, body }) => `${method} ${path} ${body}`)),
    answers: Object.fromEntries(answers),
  };
}

interface NodeRun {
  readonly data?: { readonly main?: readonly (readonly { readonly json: object }[] | null)[] };
}

const itemsOf = (run: NodeRun): readonly object[] =>
  (run.data?.main ?? []).flatMap((items) => items ?? []).map(({ json }) => json);

function isLast({ connections }: Workflow, { name, type, disabled }: WorkflowNode): boolean {
  return connections[name] === undefined && type !== 'n8n-nodes-base.stickyNote' && disabled !== true;
}

function sorted<T>(list: readonly T[]): readonly T[] {
  return [...list].sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
}

function seen(request: ModelServerRequest): SeenRequest {
  const texts = (role: string): string[] =>
    request.messages.filter((message) => message.role === role).map(({ content }) => textOf(content));
  return {
    user: texts('user'),
    model: request.model,
    temperature: request.temperature,
    maxTokens: request.max_tokens,
    system: texts('system').join('\n'),
    roles: request.messages.map(({ role }) => role),
    tools: byName(request).map((tool) => ({ ...tool.function, parameters: plainSchema(tool.function.parameters) })),
  };
}

type OfferedTool = NonNullable<ModelServerRequest['tools']>[number];

function byName({ tools = [] }: ModelServerRequest): readonly OfferedTool[] {
  return [...tools].sort((a, b) => (a.function.name < b.function.name ? -1 : 1));
}

/** Without what LangChain adds to every schema: its dialect, and that there are no other properties. */
function plainSchema(schema: unknown): object {
  const { $schema: _dialect, additionalProperties: _others, ...rest } = schema as Record<string, unknown>;
  return rest;
}

/** The migrated fixture, its SQL in a database of its own, its tenant in place. */
export async function migrateInto(
  world: MigrationWorld,
  fixture: WorkflowFixture,
): Promise<{ readonly workflow: Workflow; readonly database: TestDatabase }> {
  const database = await createMigratedDatabase();
  const tenant = await addTenant(database);
  const postgres: Credential = await addPostgresCredential(world.n8n, database.url);
  const options: MigrationOptions = { ...optionsOf(fixture), tenant, postgres };
  const migration: Migration = migrateWorkflow(fixture.workflow, options);
  if (migration.kind === 'unchanged') throw new Error(`left: ${JSON.stringify(migration.report.left)}`);
  await database.query(migration.sql);
  return { workflow: migration.workflow, database };
}

/** What a workflow does before its migration and after it. */
export async function beforeAndAfter(
  world: MigrationWorld,
  fixture: WorkflowFixture,
): Promise<{ readonly before: Observed; readonly after: Observed }> {
  const workflow = filledIn(world, fixture.workflow);
  const before = await observe(world, workflow);
  const { workflow: migrated, database } = await migrateInto(world, { ...fixture, workflow });
  try {
    return { before, after: await observe(world, migrated) };
  } finally {
    await database.close();
  }
}
