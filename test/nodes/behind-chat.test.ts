import {
  CHAT_TRIGGER_NODE_TYPE,
  type ICredentialDataDecryptedObject,
  type IExecuteFunctions,
  type INode,
  type INodeParameters,
  type INodeType,
  type IRun,
} from 'n8n-workflow';

import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';
import { type ModelServer, startModelServer, textReply, toolReply } from '../support/servers/model-server';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { containing } from '../support/setup/matchers';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';

const parameter = (name: string, type: string, more: object) => ({ displayName: name, name, type, ...more });

/** Stands for a Chat Trigger, an AI Agent or any other node: it passes its items on. */
const PASSES_ON = {
  description: {
    ...{ name: 'passesOn', inputs: ['main'], outputs: ['main'], defaults: {}, group: [] },
    // As much of the Chat Trigger's as matters here.
    properties: [
      parameter('availableInChat', 'boolean', { default: false }),
      parameter('options', 'collection', {
        default: {},
        options: [parameter('responseMode', 'string', { default: 'lastNode' })],
      }),
    ],
  },
  execute(this: IExecuteFunctions) {
    return Promise.resolve([this.getInputData()]);
  },
} as unknown as INodeType;

let database: TestDatabase;
let models: ModelServer;
let redis: TestRedis;
let tenant: string;
let credentials: Record<string, ICredentialDataDecryptedObject>;

beforeAll(async () => {
  [database, models, redis] = await Promise.all([createMigratedDatabase(), startModelServer(), startRedis()]);
  tenant = await addTenant(database, { settings: { default_tier: 'pro' } });
  await giveTool(database, tenant, { code: 'send_mail', endpoint: 'http://127.0.0.1:1' });
  credentials = {
    openRouterApi: { apiKey: 'sk-node', url: models.url },
    postgres: postgresCredential(database.url),
    redis: { host: '127.0.0.1', port: redis.port, password: redis.password, user: '', database: 0 },
  };
});
afterAll(() => Promise.all([models.close(), redis.close(), database.close()]));
beforeEach(() => {
  models.received.length = 0;
  models.always(() => textReply('Two orders.').body);
});

interface ChatRun {
  readonly options?: object;
  readonly node?: Partial<INode>;
  /** Parameters of the Chat Trigger. */
  readonly trigger?: INodeParameters;
  /** Links, each as the name of a node and of the one after it. */
  readonly links?: readonly (readonly [string, string])[];
  readonly item?: object;
}

const main = (node: string) => ({ node, type: 'main' as const, index: 0 });

/** Runs the items of a webhook through the nodes that are linked: by default a Chat Trigger, then the agent. */
function run({
  options = {},
  node = {},
  trigger = {},
  links = [
    ['Items', 'Chat'],
    ['Chat', 'Agent'],
  ],
  item = {},
}: ChatRun = {}): Promise<IRun> {
  const common = { typeVersion: 1, position: [0, 0] as [number, number], parameters: {} };
  const agent: INode = {
    ...common,
    id: 'agent',
    name: 'Agent',
    type: TYPE,
    typeVersion: 4,
    credentials: Object.fromEntries(Object.keys(credentials).map((name) => [name, { id: name, name }])),
    ...node,
    parameters: {
      tenantId: { __rl: true, mode: 'id', value: tenant },
      message: '={{ $json.chatInput }}',
      options: options as INodeParameters,
      ...node.parameters,
    },
  };
  const nodes: INode[] = [
    { ...common, id: 'start', name: 'Items', type: 'test.items' },
    { ...common, id: 'chat', name: 'Chat', type: CHAT_TRIGGER_NODE_TYPE, parameters: trigger },
    { ...common, id: 'edit', name: 'Edit', type: 'test.edit' },
    // Runs after the branch of the chat, which is above it.
    { ...agent, position: [0, 200] },
  ];
  const targets = (name: string) => links.flatMap(([from, to]) => (from === name ? [main(to)] : []));
  const isTool = agent.type.endsWith('Tool');
  return runInEngine({
    workflow: {
      nodes,
      connections: {
        ...Object.fromEntries(
          [...new Set(links.map(([from]) => from))].map((name) => [name, { main: [targets(name)] }]),
        ),
        ...(isTool ? { Agent: { ai_tool: [[{ node: 'Edit', type: 'ai_tool' as const, index: 0 }]] } } : {}),
      },
    },
    items: [{ chatInput: 'Which orders?', sessionId: 's', ...item }],
    credentials,
    nodeTypes: { [CHAT_TRIGGER_NODE_TYPE]: PASSES_ON, 'test.edit': PASSES_ON },
  });
}

const jsonOf = (ran: IRun, output = 0): object | undefined => outputOf(ran, 'Agent', output)[0]?.json;
const hintsOf = (ran: IRun): string =>
  (ran.data.resultData.runData.Agent?.[0]?.hints ?? []).map(({ message }) => message).join('\n');
const WHOLE = expect.objectContaining({ output: 'Two orders.', cost_usd: '0.00002700', status: 'completed' }) as object;
const OTHER_TRIGGER = [
  ['Items', 'Agent'],
  ['Chat', 'Agent'],
] as const;

describe('the item of an execution that a Chat Trigger started', () => {
  it.each([
    ['directly after the trigger', {}],
    [
      'after another node',
      {
        links: [
          ['Items', 'Chat'],
          ['Chat', 'Edit'],
          ['Edit', 'Agent'],
        ] as const,
      },
    ],
    [
      'before another node',
      {
        links: [
          ['Items', 'Chat'],
          ['Chat', 'Agent'],
          ['Agent', 'Edit'],
        ] as const,
      },
    ],
    ['in a chat that streams', { trigger: { options: { responseMode: 'streaming' } } }],
    ['of the JSON of a node without a version', { node: { typeVersion: undefined } }],
  ])('is the answer alone: %s', async (_where, more) => {
    expect(jsonOf(await run(more))).toEqual({ output: 'Two orders.' });
  });

  it('is the answer alone for the agent that calls the node as a tool', async () => {
    const links = [
      ['Items', 'Chat'],
      ['Chat', 'Edit'],
      ['Items', 'Agent'],
    ] as const;
    expect(jsonOf(await run({ node: { type: `${TYPE}Tool` }, links }))).toEqual({ output: 'Two orders.' });
  });

  it('is the answer alone of a result from the queue', async () => {
    const report = { task_id: 't-1', status: 'completed', result: 'Two orders.', error: null, cost_usd: '0.5' };
    await redis.client.rpush('elo:results:chat', JSON.stringify(report));
    const parameters = { operation: 'getResult', resultKey: 'elo:results:chat', taskId: 't-1', waitSeconds: 1 };
    expect(jsonOf(await run({ node: { parameters } }))).toEqual({ output: 'Two orders.' });
    expect(jsonOf(await run({ node: { parameters }, links: OTHER_TRIGGER }))).toMatchObject({ cost_usd: '0.5' });
  });

  it('holds the ids of a task that was pushed to the queue, which Get Result needs', async () => {
    const pushed = jsonOf(await run({ node: { parameters: { operation: 'enqueue' } } }));
    expect(Object.keys(pushed ?? {})).toEqual(['task_id', 'trace_id', 'result_key']);
  });

  it('keeps the fields of the incoming item and the field for the result, where the options ask for them', async () => {
    const options = { includeInputFields: true, outputField: 'agent' };
    expect(jsonOf(await run({ options }))).toEqual({
      chatInput: 'Which orders?',
      sessionId: 's',
      agent: 'Two orders.',
    });
  });
});

describe('Output: Details', () => {
  it.each([
    ['auto', OTHER_TRIGGER, WHOLE],
    ['always', undefined, WHOLE],
    ['never', OTHER_TRIGGER, { output: 'Two orders.' }],
  ])('%s decides what the item holds (links: %j)', async (outputDetails, links, expected) => {
    expect(jsonOf(await run({ options: { outputDetails }, links }))).toEqual(expected);
  });

  it.each(['sometimes', '', true])('refuses %j before anything is spent', async (outputDetails) => {
    const ran = await run({ options: { outputDetails }, node: { onError: 'continueErrorOutput' } });
    const error = { code: 'INPUT_INVALID', message: containing('Output: Details') };
    expect(jsonOf(ran, 1)).toMatchObject({ error });
    expect(models.received).toEqual([]);
  });
});

describe('versions 1 to 3', () => {
  it.each([1, 2, 3])('put the whole item out, and warn where a chat gets it (version %i)', async (typeVersion) => {
    const ran = await run({ node: { typeVersion } });
    expect(jsonOf(ran)).toEqual(WHOLE);
    expect(hintsOf(ran)).toMatch(/can read the whole item in the browser.*Output: Simplify/);
  });

  it.each([
    ['a chat that streams', { trigger: { options: { responseMode: 'streaming' } } }],
    ['a chat of the chat hub, which streams', { trigger: { availableInChat: true } }],
    ['a chat that Chat nodes answer', { trigger: { options: { responseMode: 'responseNodes' } } }],
    ['another trigger', { links: OTHER_TRIGGER }],
    ['Output: Simplify', { options: { simplifyOutput: true } }],
  ])('do not warn with %s', async (_what, more) => {
    expect(hintsOf(await run({ ...more, node: { typeVersion: 3 } }))).not.toContain('browser');
  });
});

it('finds the chat in a workflow with links from nodes that are gone, and in circles', async () => {
  const links = [
    ['Items', 'Chat'],
    ['Chat', 'Agent'],
    ['Ghost', 'Agent'],
    ['Agent', 'Edit'],
    ['Edit', 'Nobody'],
  ] as const;
  expect(jsonOf(await run({ links }))).toEqual({ output: 'Two orders.' });
});

it('warns of Output: Details set to Always, and tells of nothing otherwise', async () => {
  expect(hintsOf(await run({ options: { outputDetails: 'always' } }))).toMatch(/browser.*set Output: Details to Auto/i);
  expect(hintsOf(await run())).not.toContain('browser');
});

it('shows calls and cost above the output in every mode, since the item lacks them', async () => {
  expect(hintsOf(await run())).toMatch(/^1 model call, 0 tool calls, \d+ ms, \$0\.00002700$/m);
  expect(hintsOf(await run({ links: OTHER_TRIGGER }))).not.toContain('model call');
});

describe('a run without an answer', () => {
  const goesOn = { onError: 'continueRegularOutput' } as const;
  const OTHER = 'Something went wrong and I could not answer. Please try again or contact us.';
  const LIMIT = 'A usage limit has been reached, so I cannot answer right now. Please try again later or contact us.';
  const setTenant = (settings: object): Promise<unknown> =>
    database.query('UPDATE elo_t_tenants SET settings = $2 WHERE id = $1', [
      tenant,
      JSON.stringify({ default_tier: 'pro', ...settings }),
    ]);
  afterEach(() => setTenant({}));

  it('is a sentence for the customer where the workflow continues, and the whole error above the output', async () => {
    const ran = await run({ node: { ...goesOn, parameters: { tier: 'gold' } } });
    expect(jsonOf(ran)).toEqual({ output: OTHER });
    expect(JSON.parse(JSON.stringify(jsonOf(ran)))).not.toHaveProperty('error');
    expect(hintsOf(ran)).toMatch(/"gold" is not configured.*\(TIER_UNKNOWN\)/);
    expect(ran.data.resultData.metadata).toMatchObject({ code: 'TIER_UNKNOWN' });
  });

  it.each([
    [{}, LIMIT],
    [{ language: 'de-AT' }, containing('Nutzungslimit')],
    [{ language: 'Deutsch', customer_messages: { budget_exceeded: 'Bis bald!' } }, 'Bis bald!'],
    [{ customer_messages: { budget_exceeded: 'By status', BUDGET_EXCEEDED: 'By code' } }, 'By code'],
  ])('is an answer if the budget is used up, whatever the node does on errors: %j', async (settings, output) => {
    await setTenant({ monthly_cost_limit_usd: '0.000000001', ...settings });
    const ran = await run();
    expect(ran.status).toBe('success');
    expect(jsonOf(ran)).toEqual({ output });
    expect(hintsOf(ran)).toContain('(BUDGET_EXCEEDED)');
    expect(ran.data.resultData.metadata).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    expect(models.received).toEqual([]);
  });

  it('has a used-up budget in a whole item too', async () => {
    await setTenant({ monthly_cost_limit_usd: '0.000000001' });
    const whole = jsonOf(await run({ options: { outputDetails: 'always' } }));
    expect(whole).toMatchObject({ output: LIMIT, status: 'budget_exceeded' });
  });

  it('fails elsewhere and in version 3 for a budget that is used up', async () => {
    await setTenant({ monthly_cost_limit_usd: '0.000000001' });
    for (const more of [{ links: OTHER_TRIGGER }, { node: { typeVersion: 3 } }]) {
      expect((await run(more)).data.resultData.error?.description).toContain('BUDGET_EXCEEDED');
    }
  });

  it("is in the node's own words for what fails before the tenant is known", async () => {
    const options = { customerMessages: '{ "failed": "By status", "TENANT_ID_INVALID": "By code" }' };
    const unknown = { ...goesOn, parameters: { tenantId: 'nobody' } };
    expect(jsonOf(await run({ options, node: unknown }))).toEqual({ output: 'By code' });
    const options2 = { customerMessages: { failed: 'By status' } };
    expect(jsonOf(await run({ options: options2, node: unknown }))).toEqual({ output: 'By status' });
  });

  it.each(['{', '[]', '{"failed": 1}', '{"failed": ""}', 'text'])(
    'refuses the customer messages %s',
    async (customerMessages) => {
      const ran = await run({ options: { customerMessages }, node: { onError: 'continueErrorOutput' } });
      expect(jsonOf(ran, 1)).toMatchObject({ output: OTHER, error: { message: containing('Customer Messages') } });
      expect(models.received).toEqual([]);
    },
  );

  it('is a sentence of a task that cannot be pushed to the queue', async () => {
    const options = { taskList: 'tenant:secrets' };
    const ran = await run({ options, node: { ...goesOn, parameters: { operation: 'enqueue', tenantId: 'nobody' } } });
    expect(Object.keys(jsonOf(ran) ?? {})).toEqual(['output']);
  });

  it('keeps the error of version 3 whose shape cannot be read', async () => {
    const ran = await run({ options: { outputField: '__proto__' }, node: { ...goesOn, typeVersion: 3 } });
    expect(jsonOf(ran)).toMatchObject({ error: { code: 'INPUT_INVALID' } });
  });

  it('is the description of an error that ends the execution, which n8n may send to a chat, also of a tool', async () => {
    const gold = { parameters: { tier: 'gold' } };
    const links = [
      ['Items', 'Chat'],
      ['Chat', 'Edit'],
      ['Items', 'Agent'],
    ] as const;
    for (const more of [{ node: gold }, { links, node: { ...gold, type: `${TYPE}Tool` } }]) {
      const { error } = (await run(more)).data.resultData;
      expect(error?.description).toBe(OTHER);
      expect(error?.message).toMatch(/"gold".*\(TIER_UNKNOWN\)$/);
    }
  });

  it('has the field for the result, where the options name one', async () => {
    const ran = await run({ options: { outputField: 'agent' }, node: { ...goesOn, parameters: { tier: 'gold' } } });
    expect(jsonOf(ran)).toEqual({ agent: OTHER });
  });

  it("is in the tenant's language also if its other parameters cannot be read", async () => {
    await setTenant({ language: 'es' });
    const ran = await run({ options: { context: '{' }, node: goesOn });
    expect(jsonOf(ran)).toEqual({ output: containing('Se ha producido un error') });
  });

  it('has no error at all for later nodes unless Retry On Fail needs it', async () => {
    const ran = await run({ node: { ...goesOn, parameters: { tier: 'gold' } } });
    expect(Object.getOwnPropertyNames(jsonOf(ran))).toEqual(['output']);
  });

  it('is tried again by Retry On Fail, although the item has no error', async () => {
    models.script({ status: 503, body: {} }, { status: 503, body: {} }, { status: 503, body: {} });
    const ran = await run({ node: { ...goesOn, retryOnFail: true, waitBetweenTries: 0 } });
    expect(jsonOf(ran)).toEqual({ output: 'Two orders.' });
    // The highlighted data names no code of a try that was made good.
    expect(ran.data.resultData.metadata).toMatchObject({ status: 'completed', code: 'none' });
  });

  it('keeps the error with its code, and no more of the run, for the node at the error output', async () => {
    models.always(() => textReply('', { prompt: 5, completion: 0 }).body);
    const ran = await run({ node: { onError: 'continueErrorOutput' } });
    const { chatInput: _chatInput, sessionId: _sessionId, ...ours } = (jsonOf(ran, 1) ?? {}) as Record<string, unknown>;
    const output = 'I cannot answer right now. Please try again in a few minutes.';
    expect(ours).toEqual({ output, error: expect.objectContaining({ code: 'LLM_EMPTY_REPLY' }) as object });
  });

  it('warns of an error output that nothing is wired to, and of a node that does not continue', async () => {
    const ran = await run({ node: { onError: 'continueErrorOutput' } });
    expect(hintsOf(ran)).toContain('Nothing is wired to the error output');
    expect(hintsOf(ran)).not.toContain('Error in workflow');
    expect(hintsOf(await run({ node: goesOn }))).not.toMatch(/error output|Error in workflow/);
    expect(hintsOf(await run())).toContain('Error in workflow');
    expect(hintsOf(await run({ trigger: { options: { responseMode: 'streaming' } } }))).not.toContain('in workflow');
  });

  it('says that it waits for an approval, to the customer and to the operator', async () => {
    await setTenant({ language: 'French', tool_config: { tool_permissions: { send_mail: { decision: 'ask' } } } });
    models.always(() => toolReply([{ name: 'send_mail', arguments: {} }]).body);
    const ran = await run();
    expect(ran.status).toBe('success');
    expect(jsonOf(ran)).toEqual({ output: 'Cette demande doit être approuvée avant que je puisse continuer.' });
    expect(hintsOf(ran)).toMatch(
      /^send_mail waits for an approval\. Decide with .*Approval: Decide, and the Run ID [0-9a-f-]{36}\./m,
    );
    const whole = jsonOf(await run({ links: OTHER_TRIGGER }));
    expect(whole).toMatchObject({ status: 'awaiting_input', output: containing('approuvée') });
    expect(jsonOf(await run({ links: OTHER_TRIGGER, node: { typeVersion: 3 } }))).toMatchObject({ output: '' });
  });
});
