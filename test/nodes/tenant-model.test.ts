import type {
  ICredentialDataDecryptedObject,
  IExecuteFunctions,
  INode,
  INodeExecutionData,
  INodeParameters,
  INodeType,
  IRun,
  ISupplyDataFunctions,
} from 'n8n-workflow';
import OpenAI from 'openai';

import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';
import { type Wire, wired } from '../support/worlds/sub-nodes';

const TYPE = 'n8n-nodes-universal-ai-agent.tenantModel';
const ASKING = 'test.asking';
/** A tool whose type does not say so. */
const KNOWLEDGE = 'test.knowledge';
const SELECTOR = 'test.selector';
const TOOL = 'test.agentTool';
const OWN = 'n8n-nodes-universal-ai-agent.universalAiAgent';

/** The client of OpenAI, which n8n's class is a shell of, with the fields that it was made with. */
class ChatOpenAI extends OpenAI {
  constructor(
    readonly fields: { readonly apiKey: string; readonly maxRetries: number; readonly configuration: object },
  ) {
    super({ ...fields.configuration, apiKey: fields.apiKey, maxRetries: fields.maxRetries });
  }
}
/** Classes that n8n has. */
let classes: object | undefined = { ChatOpenAI };
jest.doMock('../../nodes/shared/host-modules', () => ({ hostModule: () => classes }));

let database: TestDatabase;
let models: ModelServer;
let ann: string;
let bob: string;
let nodeTypes: Record<string, INodeType>;
let credentials: Record<string, ICredentialDataDecryptedObject>;

beforeAll(async () => {
  [database, models] = await Promise.all([createMigratedDatabase(), startModelServer()]);
  [ann, bob] = await Promise.all([addTenant(database), addTenant(database)]);
  const { TenantModel } = await import('../../nodes/TenantModel/TenantModel.node');
  const { UniversalAiAgent } = await import('../../nodes/UniversalAiAgent/UniversalAiAgent.node');
  nodeTypes = {
    [TYPE]: new TenantModel(),
    [ASKING]: asking,
    [TOOL]: asking,
    [KNOWLEDGE]: handsOn('ai_tool'),
    [SELECTOR]: handsOn('ai_languageModel'),
    [OWN]: new UniversalAiAgent().getNodeType(3),
  };
  credentials = {
    openRouterApi: { apiKey: 'sk-router', url: models.url },
    openAiApi: { apiKey: 'sk-openai', url: models.url },
    postgres: postgresCredential(database.url),
  };
});
afterAll(() => Promise.all([models.close(), database.close()]));
beforeEach(() => {
  classes = { ChatOpenAI };
  models.received.length = 0;
  models.requests.length = 0;
  models.always(() => textReply('Hello to you, and to all of yours.').body);
});

const IMAGE = 'data:image/png;base64,AAAABBBB';

type Ask = (model: ChatOpenAI, context: IExecuteFunctions) => Promise<unknown>;
type Body = Parameters<OpenAI['chat']['completions']['create']>[0];
const HELLO = { model: 'tenant-model', messages: [{ role: 'user', content: 'Hello' }] } satisfies Body;

const whole: Ask = (model) => model.chat.completions.create(HELLO);
let ask = whole;

const description = (inputs: readonly string[], outputs: readonly string[]): INodeType['description'] =>
  ({
    ...{ displayName: 'Node', name: 'node', group: ['transform'], version: 1, description: '', properties: [] },
    ...{ defaults: { name: 'Node' }, inputs: inputs.map((type) => ({ type, displayName: type })), outputs },
  }) as unknown as INodeType['description'];

/** Asks the model that is connected, as the test says. */
const asking: INodeType = {
  description: description(['main', 'ai_languageModel', 'ai_tool'], ['main']),
  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const [tool] = (await this.getInputConnectionData('ai_tool', 0)) as ChatOpenAI[];
    const [model] =
      tool === undefined ? ((await this.getInputConnectionData('ai_languageModel', 0)) as ChatOpenAI[]) : [tool];
    return [[{ json: { reply: (await ask(model as ChatOpenAI, this)) as never } }]];
  },
};

/** Has a model, and gives it to the agent. */
const handsOn = (output: string): INodeType => ({
  description: description(['ai_languageModel'], [output]),
  async supplyData(this: ISupplyDataFunctions) {
    const [response] = (await this.getInputConnectionData('ai_languageModel', 0)) as unknown[];
    return { response };
  },
});

interface Scene {
  readonly tenant?: string;
  readonly parameters?: INodeParameters;
  readonly items?: readonly object[];
  readonly agent?: string;
  /** Kind of a node between the agent and the model. */
  readonly by?: 'ai_tool' | 'ai_languageModel';
}

function run({ tenant = '={{ $json.tenant }}', parameters, items, agent = ASKING, by }: Scene = {}): Promise<IRun> {
  const root: INode = {
    ...{ id: 'agent-node', name: 'Agent', type: agent, typeVersion: agent === OWN ? 3 : 1, position: [0, 0] },
    parameters: { tenantId: ann, message: 'Hello' },
  };
  const own: Wire = {
    ...{ name: 'Tenant Model', type: TYPE, output: 'ai_languageModel', to: by === undefined ? 'Agent' : 'Between' },
    parameters: { tenantId: { __rl: true, mode: 'id', value: tenant }, tier: 'pro', ...parameters },
  };
  const between: Wire[] =
    by === undefined ? [] : [{ name: 'Between', type: by === 'ai_tool' ? KNOWLEDGE : SELECTOR, output: by }];
  const { nodes, connections } = wired(root, [own, ...between]);
  const chosen = Object.fromEntries(Object.keys(credentials).map((type) => [type, { id: type, name: type }]));
  return runInEngine({
    workflow: { nodes: nodes.map((node) => ({ ...node, credentials: chosen })), connections },
    items: (items ?? [{ tenant: ann }]) as never,
    credentials,
    nodeTypes,
  });
}

const replyOf = (ended: IRun): unknown => outputOf(ended, 'Agent')[0]?.json.reply;
const rows = (ended: IRun) => ended.data.resultData.runData['Tenant Model'] ?? [];
const failureOf = ({ data: { resultData } }: IRun) =>
  `${resultData.error?.message}: ${resultData.error?.description ?? ''}`;
const asked = (wanted: Ask, scene: Scene = {}): Promise<IRun> => {
  ask = wanted;
  return run(scene);
};

it('answers as a provider does, in a row of Logs with its tokens and cost', async () => {
  const ended = await asked(whole);
  expect(replyOf(ended)).toMatchObject({
    ...{ object: 'chat.completion', model: 'openai/gpt-4o-mini' },
    choices: [{ message: { role: 'assistant', content: 'Hello to you, and to all of yours.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
  });
  expect(rows(ended)).toMatchObject([
    {
      ...{ executionStatus: 'success', source: [{ previousNode: 'Agent' }] },
      inputOverride: { ai_languageModel: [[{ json: { messages: ['Human: Hello'] } }]] },
      data: {
        ai_languageModel: [[{ json: { tokenUsage: { totalTokens: 120 }, cost_usd: '0.00002700', tier: 'pro' } }]],
      },
    },
  ]);
});

it('takes its options, and the other provider with its credential', async () => {
  const options = {
    ...{ temperature: 0.25, maxTokens: '={{ "55" }}', modelOverride: 'qwen/qwen3-8b' },
    ...{ modelProvider: 'openAiCompatible', identity: { userId: 'u-1' } },
  };
  await asked(whole, { parameters: { options } });
  expect(models.received[0]).toMatchObject({ model: 'qwen/qwen3-8b', temperature: 0.25, max_tokens: 55 });
  expect(models.requests[0]?.headers.authorization).toBe('Bearer sk-openai');
  expect(await database.query(`SELECT user_id FROM elo_agent_runs WHERE user_id = 'u-1'`)).toHaveLength(1);
});

describe('in pieces', () => {
  interface Streamed {
    readonly pieces: string[];
    readonly calls: { readonly name?: string; readonly arguments?: string }[];
    readonly usage?: number;
  }
  const stream = async (model: ChatOpenAI): Promise<Streamed> => {
    const events = await model.chat.completions.create({ ...HELLO, stream: true });
    const chunks: OpenAI.Chat.Completions.ChatCompletionChunk[] = [];
    for await (const chunk of events) chunks.push(chunk);
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    return {
      pieces: deltas.flatMap(({ content }) => content ?? []),
      calls: deltas.flatMap(({ tool_calls: calls = [] }) => calls.flatMap((one) => one.function ?? [])),
      usage: chunks.at(-1)?.usage?.total_tokens,
    };
  };

  it('gives the words as they come', async () => {
    const { pieces, usage } = replyOf(await asked(stream)) as Streamed;
    expect(pieces.length).toBeGreaterThan(2);
    expect([pieces.join(''), usage]).toEqual(['Hello to you, and to all of yours.', 120]);
  });

  it('keeps calls of one reply apart', async () => {
    models.script(
      toolReply([
        { name: 'one', arguments: { at: 1 } },
        { name: 'two', arguments: { at: 2 } },
      ]),
    );
    expect(replyOf(await asked(stream))).toMatchObject({
      calls: [
        { name: 'one', arguments: '{"at":1}' },
        { name: 'two', arguments: '{"at":2}' },
      ],
    });
  });

  it('a failure before the first word is that of the request, and one behind it breaks off', async () => {
    models.script({ body: { error: { message: 'no such key' } }, status: 401 });
    const before = await asked((model) => stream(model).catch((error: unknown) => String(error)));
    expect(replyOf(before)).toContain('400');
    expect(replyOf(before)).toContain('(LLM_AUTH_FAILED)');
    models.script((_request, response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write('data: {"choices":[{"index":0,"delta":{"content":"Hello to"}}]}\n\n');
      response.write('data: {"choices":[{"index":0,"delta":{"content":" you and"}}]}\n\n', () => response.destroy());
    });
    const broken = await asked((model) => stream(model).catch((error: unknown) => String(error)));
    expect(replyOf(broken)).toContain('LLM_');
    expect(rows(broken)).toMatchObject([{ executionStatus: 'error' }]);
  });
});

it('a failure is told with what to do, and red in Logs', async () => {
  const tenant = await addTenant(database, { settings: { max_tier: 'small' } });
  const ended = await asked(whole, { tenant });
  expect(failureOf(ended)).toContain('TIER_NOT_ALLOWED');
  expect(rows(ended)).toMatchObject([{ executionStatus: 'error' }]);
  expect(models.received).toEqual([]);
});

it('a network error keeps its code, and the name of what failed', async () => {
  const before = credentials.openRouterApi;
  credentials.openRouterApi = { apiKey: 'sk-router', url: 'http://127.0.0.1:1' };
  const ended = await asked(whole);
  credentials.openRouterApi = before as ICredentialDataDecryptedObject;
  expect(failureOf(ended)).toContain('(LLM_UNAVAILABLE)');
  expect(rows(ended)[0]?.error?.message).toContain('(LLM_UNAVAILABLE)');
});

it.each<[string, object]>([
  [
    'images and other files',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: IMAGE } }] }] },
  ],
  ['older form', { functions: [{ name: 'one' }] }],
  ['"web_search"', { tools: [{ type: 'web_search' }] }],
])('says what it does not take: %s', async (words, more) => {
  const ended = await asked((model) => model.chat.completions.create({ ...HELLO, ...more }));
  expect(failureOf(ended)).toContain(words);
  expect(JSON.stringify(ended.data.resultData.runData)).not.toContain(IMAGE);
  expect(models.received).toEqual([]);
});

it('does not pass over a provider that is an expression', async () => {
  const parameters = { options: { modelProvider: '={{ "openAiCompatible" }}' } };
  expect(failureOf(await asked(whole, { parameters }))).toContain('Provider must be chosen');
});

it('a call that is stopped is not told as a failure of the model', async () => {
  const stop = new AbortController();
  models.script(() => stop.abort());
  const stopped: Ask = (model) =>
    model.chat.completions.create(HELLO, { signal: stop.signal }).catch((error: unknown) => (error as Error).name);
  expect(replyOf(await asked(stopped))).toMatch(/Error/);
  expect(models.received).toHaveLength(1);
});

describe('the tenant', () => {
  const written = '={{ $json.tenant }}';
  it.each<[string, Scene]>([
    ['TENANT_UNTRUSTED', { agent: TOOL }],
    ['TENANT_UNTRUSTED', { by: 'ai_tool' }],
    ['TENANT_UNTRUSTED', { by: 'ai_tool', tenant: "={{ $('Items').item.json.tenant }}" }],
    ['TENANT_UNTRUSTED', { tenant: "={{ $fromAI('tenant') }}" }],
    ['MODEL_BILLED_TWICE', { agent: OWN }],
    ['MODEL_BILLED_TWICE', { agent: OWN, by: 'ai_languageModel' }],
  ])('is refused with %s: %j', async (code, scene) => {
    const ended = await asked(whole, { tenant: written, ...scene });
    expect(JSON.stringify(ended.data.resultData)).toContain(code);
    expect(models.received).toEqual([]);
  });

  it('is refused where items have different ones', async () => {
    const ended = await asked(whole, { items: [{ tenant: ann }, { tenant: bob }] });
    expect(failureOf(ended)).toContain('ITEMS_DIFFER');
    const same = await asked(whole, { items: [{ tenant: ann }, { tenant: ann }] });
    expect(replyOf(same)).toMatchObject({ model: 'openai/gpt-4o-mini' });
  });

  it('may be named below a tool', async () => {
    const ended = await asked(whole, { by: 'ai_tool', tenant: "={{ $('Items').first().json.tenant }}" });
    expect(replyOf(ended)).toMatchObject({ model: 'openai/gpt-4o-mini' });
  });
});

it('says what is missing where n8n has no such class', async () => {
  classes = undefined;
  expect(failureOf(await asked(whole))).toContain('HOST_MODEL_MISSING');
});
