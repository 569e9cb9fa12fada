import '../support/setup/errors-of-node';

import { inspect } from 'node:util';

import type { Runtime } from '../../runtime';
import { addMcpServer, addTenant, useMcpServer } from '../support/servers/database';
import { sendJson } from '../support/servers/http-server';
import { startMcpServer, type TestMcpServer } from '../support/servers/mcp-server';
import { type ScriptedReply, textReply, toolReply } from '../support/servers/model-server';
import { aTask } from '../support/values/agent-fixture';
import { type Aftermath, type Attack, hostileWorld, rawReply } from '../support/worlds/hostile-world';
import { aVaultKey, setSecret } from '../support/worlds/vault';

/** Values that no pattern knows. */
const OWN = {
  apiKey: 'canary/api+key one"1',
  modelHeader: 'canary-model-header-1',
  authHeader: 'Key canary-auth-header/1==',
  customHeader: 'canary-custom"header',
  mcpToken: 'canary-mcp-token-1',
  vaulted: 'canary-vaulted-1',
  vaultedForServer: 'canary-vaulted-server-1',
};
/** Values that nobody told us, which give themselves away by their form. */
const FORMS = {
  openai: 'sk-proj-abcdefghijklmnop1234567890',
  github: 'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
  jwt: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U',
  aws: 'AKIAIOSFODNN7EXAMPLE',
  telegram: '123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0',
  url: 'https://admin:hunter2secret@db.example.com/x',
};
const SHOWN_OF_URL = 'hunter2secret';

const world = hostileWorld();
const vaultKey = aVaultKey();
const DONE = textReply('Done');
let mcp: TestMcpServer;
let runtime: Runtime;
let tenantId: string;
let password: string;
const printed: string[] = [];

/** Everything that anybody could send back. */
const everySecret = (): Record<string, string> => ({ ...OWN, ...FORMS, password, vaultKey });

beforeAll(async () => {
  mcp = await startMcpServer({
    tools: () => [{ name: 'tell', description: 'Tells' }],
    answer: ({ headers }) => ({ content: [{ type: 'text', text: inspect({ ...headers, ...everySecret() }) }] }),
  });
});
beforeEach(async () => {
  const { database, models } = world.fixture();
  password = decodeURIComponent(new URL(database.url).password);
  runtime = world.aRuntime({
    vaultKey,
    model: {
      apiKey: OWN.apiKey,
      baseUrl: models.url,
      maxRetries: 0,
      headers: { 'x-api-key': OWN.modelHeader, 'x-title': 'Parts' },
    },
  });
  tenantId = await addTenant(database);
  await setSecret(database, vaultKey, { tenantId, name: 'crm', value: OWN.vaulted });
  await setSecret(database, vaultKey, { tenantId, name: 'server', value: OWN.vaultedForServer });
  for (const [code, auth] of [
    ['bearer', { kind: 'bearer', token: OWN.mcpToken }],
    ['vaulted', { kind: 'headers', headers: { 'x-key': 'vault:server' } }],
  ] as const) {
    await useMcpServer(database, { tenantId, serverId: await addMcpServer(database, { code, url: mcp.url }), auth });
  }
  printed.length = 0;
  for (const stream of [process.stdout, process.stderr]) {
    jest.spyOn(stream, 'write').mockImplementation((chunk) => {
      printed.push(String(chunk));
      return true;
    });
  }
  for (const method of ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const) {
    jest.spyOn(console, method).mockImplementation((...given) => void printed.push(inspect(given, { depth: 10 })));
  }
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => mcp.close());

const TOOL = {
  code: 'tell',
  authHeader: OWN.authHeader,
  customConfig: { headers: { 'X-Api-Key': OWN.customHeader, 'X-Vaulted': 'Bearer vault:crm' } },
};

const attack = (given: Attack): Promise<Aftermath> =>
  world.attack({ tools: [TOOL], tenantId, runtime, config: { include_trace: true }, ...given });

/** All that the run left, told, stored or printed, as text without the marks of escaping. */
async function everything({ result, error, events, taskId }: Aftermath): Promise<string> {
  const { database } = world.fixture();
  const rows = await Promise.all(
    ['elo_agent_runs', 'elo_agent_model_calls', 'elo_t_token_usage', 'elo_tool_executions'].map((table) =>
      database.query<{ row: string }>(`SELECT one::text AS row FROM ${table} AS one WHERE task_id = $1`, [taskId]),
    ),
  );
  const whole = { depth: 20, showHidden: true, maxStringLength: null, maxArrayLength: null, breakLength: 200 };
  const parts = [
    JSON.stringify(result),
    inspect(result, whole),
    JSON.stringify(error),
    JSON.stringify(error?.details),
    JSON.stringify(error?.toSummary()),
    inspect(error, whole),
    String(error?.stack),
    inspect(error?.cause, whole),
    JSON.stringify(events),
    JSON.stringify(rows),
    printed.join('\n'),
  ];
  return parts.join('\n').replaceAll('\\', '');
}

function expectNone(text: string): void {
  const bare = text.replaceAll('\\', '');
  const values = [...Object.values({ ...everySecret(), url: SHOWN_OF_URL }), OWN.authHeader.slice(4)];
  const forms = values.flatMap((value) => [value, encodeURIComponent(value), Buffer.from(value).toString('base64')]);
  const shown = forms.map((form) => [form, bare.indexOf(form)] as const).filter(([, at]) => at >= 0);
  // With what stands around it, so that a failure says where it got out.
  expect(shown.map(([form, at]) => bare.slice(Math.max(0, at - 60), at + form.length + 20))).toEqual([]);
  expect(bare.match(/.{0,40}canary.{0,40}/i)).toBeNull();
}

it.each([
  ['decoded', (user: string, password: string) => `${user}:${password}`],
  ['taken apart', (user: string, password: string) => JSON.stringify({ user, password })],
  [
    'encoded anew',
    (user: string, password: string) => encodeURIComponent(Buffer.from(password).toString('base64') + user),
  ],
])('case 31: Basic credentials that a server has %s and quotes are blanked', async (_what, quote) => {
  const [user, password] = ['canary-basic-user', 'canary p@ss/1'];
  const authHeader = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  world.answer((_request, response) => sendJson(response, { error: `no such login: ${quote(user, password)}` }));
  const aftermath = await attack({
    tools: [{ code: 'tell', authHeader }],
    replies: [toolReply([{ name: 'tell' }]), DONE],
  });
  const told = `${await everything(aftermath)}\n${JSON.stringify(aftermath.sent)}`;
  expect(told).toContain('no such login: ');
  expectNone(told);
  expect(told).not.toContain(Buffer.from(password).toString('base64').slice(0, -1));
});

const TOLD: [
  string,
  (secrets: Record<string, string>) => { status?: number; headers?: Record<string, string>; text: string },
][] = [
  ['JSON', (secrets) => ({ text: JSON.stringify(secrets) })],
  [
    'JSON in keys',
    (secrets) => ({ text: JSON.stringify(Object.fromEntries(Object.values(secrets).map((value) => [value, 1]))) }),
  ],
  ['JSON in JSON', (secrets) => ({ text: JSON.stringify({ inner: JSON.stringify(secrets) }) })],
  [
    'escaped JSON',
    (secrets) => ({
      text: JSON.stringify(secrets)
        .replaceAll('/', '\\/')
        .replaceAll('c', '\\u0063')
        .replaceAll('s', '\\u0073')
        .replaceAll('k', '\\u006b'),
    }),
  ],
  ['text', (secrets) => ({ text: `<pre>${inspect(secrets)}</pre>` })],
  ['text in a URL', (secrets) => ({ text: new URLSearchParams(secrets).toString().replaceAll('+', '%20') })],
  ['an error body', (secrets) => ({ status: 500, text: JSON.stringify(secrets) })],
  ['an error of its own', (secrets) => ({ text: JSON.stringify({ success: false, error: inspect(secrets) }) })],
  [
    'a limit of the rate',
    (secrets) => ({ status: 429, headers: { 'retry-after': secrets.authHeader ?? '' }, text: inspect(secrets) }),
  ],
  [
    'headers',
    (secrets) => ({
      headers: Object.fromEntries(Object.values(secrets).map((value, n) => [`x-${n}`, value])),
      text: '{"sent":"[redacted]"}',
    }),
  ],
];

it.each(TOLD)(
  'case 32: what a server of tools sends back as %s is blanked for model, caller, database and log',
  async (_what, tell) => {
    world.answer((_request, response) => {
      const { status = 200, headers = {}, text } = tell(everySecret());
      response.writeHead(status, headers).end(text);
    });
    const aftermath = await attack({ replies: [toolReply([{ name: 'tell' }]), DONE] });
    expect(aftermath.executed).toMatchObject([{ authorization: OWN.authHeader }]);
    expect(world.hooks().requests.at(-1)?.headers).toMatchObject({ 'x-vaulted': `Bearer ${OWN.vaulted}` });
    expect(aftermath.sent).toHaveLength(2);
    expectNone(JSON.stringify(aftermath.sent));
    const text = await everything(aftermath);
    expect(text).toContain('[redacted]');
    expectNone(text);
  },
);

it.each(['bearer_tell', 'vaulted_tell'])('case 32: what an MCP server sends back is blanked too: %s', async (name) => {
  const aftermath = await attack({ replies: [toolReply([{ name }]), DONE] });
  expect(mcp.calls.at(-1)?.headers).toMatchObject(
    name === 'bearer_tell' ? { authorization: `Bearer ${OWN.mcpToken}` } : { 'x-key': OWN.vaultedForServer },
  );
  expectNone(JSON.stringify(aftermath.sent));
  const text = await everything(aftermath);
  expect(text).toContain('[redacted]');
  expectNone(text);
});

describe('a model that knows every secret', () => {
  const all = (): string => inspect(everySecret());

  const WAYS: [string, () => readonly ScriptedReply[]][] = [
    ['in its answer', () => [textReply(`Here: ${all()}`)]],
    [
      'in the answer at the limit of steps',
      () => [rawReply({ role: 'assistant', content: all(), tool_calls: toolCalls('tell', {}) })],
    ],
    ['in arguments', () => [toolReply([{ name: 'tell', arguments: everySecret() }]), DONE]],
    [
      'in names of arguments',
      () => [
        toolReply([
          { name: 'tell', arguments: Object.fromEntries(Object.values(everySecret()).map((value) => [value, 1])) },
        ]),
        DONE,
      ],
    ],
    ['in arguments that are no JSON', () => [toolReply([{ name: 'tell', arguments: `{"q": ${FORMS.github}}` }]), DONE]],
    [
      'in arguments that are no JSON, own',
      () => [toolReply([{ name: 'tell', arguments: `{"q": ${OWN.vaulted}}` }]), DONE],
    ],
    [
      'in arguments against the schema',
      () => [toolReply([{ name: 'strict', arguments: { [FORMS.github]: 1, [OWN.vaulted]: 1 } }]), DONE],
    ],
    [
      'in the name of a tool',
      () => [toolReply([FORMS.github, OWN.vaulted, OWN.authHeader].map((name, n) => ({ name, id: `call${n}` }))), DONE],
    ],
    [
      'in the id of a call',
      () => [
        toolReply([
          { name: 'tell', id: FORMS.github },
          { name: 'tell', id: OWN.vaulted },
        ]),
        DONE,
      ],
    ],
    [
      'in the name of the model',
      () => [rawReply({ role: 'assistant', content: 'x' }, 'stop', { model: FORMS.openai })],
    ],
    ['in the id of the reply', () => [rawReply({ role: 'assistant', content: 'x' }, 'stop', { id: OWN.apiKey })]],
    ['in the reason why it ended', () => [rawReply({ role: 'assistant', content: 'x' }, FORMS.openai)]],
    ['in its thoughts', () => [rawReply({ role: 'assistant', content: 'x', reasoning_details: [{ text: all() }] })]],
  ];
  const toolCalls = (name: string, given: object): object[] => [
    { id: 'a', type: 'function', function: { name, arguments: JSON.stringify(given) } },
  ];
  const STRICT = { code: 'strict', schema: { type: 'object', properties: {}, additionalProperties: false } };

  it.each(WAYS)('case 32: %s gives none of them away', async (what, replies) => {
    const aftermath = await attack({
      tools: [TOOL, STRICT],
      config: {
        include_trace: true,
        ...(what.includes('limit') ? { max_iterations: 1, on_max_iterations: 'partial' } : {}),
      },
      replies: replies(),
    });
    expect(aftermath.result?.status).toMatch(/completed|max_iterations/);
    expectNone(await everything(aftermath));
  });

  it('case 32: in a call that waits for a person gives none away, and the call is made as it was asked', async () => {
    const { database } = world.fixture();
    await database.query('UPDATE elo_t_tenants SET settings = $2 WHERE id = $1', [
      tenantId,
      JSON.stringify({ tool_config: { tool_permissions: { tell: { decision: 'ask' } } } }),
    ]);
    const waiting = await attack({ replies: [toolReply([{ name: 'tell', arguments: everySecret() }])] });
    expect(waiting.result).toMatchObject({ status: 'awaiting_input', awaiting: { tool: 'tell' } });
    expectNone(await everything(waiting));
    world.fixture().models.script(DONE);
    const approval = { run_id: waiting.result?.run_id, decision: 'approve' };
    const before = world.hooks().requests.length;
    await runtime.run(aTask(tenantId, { approval }));
    const made = world.hooks().requests.slice(before);
    expect(made.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([{ arguments: everySecret() }]);
  });
});

describe('a provider that quotes what it was sent', () => {
  it.each([[400], [401], [402], [404], [429], [500]])('case 32: with HTTP %i gives none of it away', async (status) => {
    const message = `Bad request: ${inspect(everySecret())}`.replaceAll(/\s+/g, ' ');
    const aftermath = await attack({ replies: [{ status, body: { error: { message, code: status } } }] });
    expect(aftermath.error?.code).toMatch(/^LLM_/);
    expectNone(await everything(aftermath));
  });

  it.each([
    ['no JSON', (text: string) => text],
    ['an error within HTTP 200', (text: string) => JSON.stringify({ error: { message: text, code: 400 } })],
    ['no completion', (text: string) => JSON.stringify({ choices: text })],
  ])('case 32: with a body that is %s gives none of it away', async (_what, make) => {
    await attack({ replies: [DONE] });
    for (const secret of Object.values(everySecret())) {
      const aftermath = await attack({
        tools: [],
        replies: [
          (_request, response) =>
            void response.writeHead(200, { 'content-type': 'application/json' }).end(make(secret)),
        ],
      });
      expect(aftermath.error?.code).toMatch(/^LLM_/);
      expectNone(await everything(aftermath));
    }
  });
});

it('case 32: a key that no header can hold, and a server that is not there, are not quoted', async () => {
  const broken = world.aRuntime({ model: { apiKey: 'canary-key\nbroken', baseUrl: world.fixture().models.url } });
  const first = await attack({ runtime: broken, tools: [], replies: [DONE] });
  expect(first.error?.code).toMatch(/^LLM_/);
  expectNone(await everything(first));
  const second = await attack({
    tools: [{ ...TOOL, endpoint: `http://127.0.0.1:9/${OWN.customHeader}?key=${OWN.authHeader}` }],
    replies: [toolReply([{ name: 'tell' }]), DONE],
  });
  expect(second.executed).toEqual([]);
  expectNone(await everything(second));
  expectNone(JSON.stringify(second.sent));
});

it('case 32: a row whose secret cannot be opened says so by its name only', async () => {
  await world.fixture().database.query(`UPDATE elo_agent_secrets SET sealed = sealed || 'x' WHERE name = 'crm'`);
  const aftermath = await attack({ replies: [DONE] });
  expect(JSON.stringify(aftermath.result?.warnings)).toContain('vault:crm');
  expectNone(await everything(aftermath));
});

it.each([
  ['in the address of a bot', `https://api.telegram.org/bot${FORMS.telegram}/sendMessage`, FORMS.telegram],
  [
    'in an address that is quoted',
    encodeURIComponent(`https://x.example/?bot=${FORMS.telegram}`),
    '3AAAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0',
  ],
  ['behind an underscore', `id_${FORMS.github}`, FORMS.github],
  ['in the address of a database', `postgres://app:p%40ss:word@10.0.0.1:5432/x`, 'p%40ss:word'],
  ['without a user', 'redis://:hunter2secret@cache:6379', 'hunter2secret'],
  ['in a header', 'authorization: bearer abcdefghij1234567890', 'abcdefghij1234567890'],
  ['in a header in capitals', 'AUTHORIZATION: BEARER abcdefghij1234567890', 'abcdefghij1234567890'],
])('case 32: what is a secret by its form is seen %s', async (_what, text, secret) => {
  const aftermath = await attack({ tools: [], replies: [textReply(`It is ${text}.`)] });
  expect(aftermath.result?.result.text).toContain('[redacted]');
  expect((await everything(aftermath)).split(secret)).toHaveLength(1);
});

it('case 32: ordinary text is left as it is', async () => {
  const text = 'Parts: order sk-123 of 12345678: AKIA is no key, see https://example.com:8080/a@b and Bearer bonds.';
  world.answer((_request, response) => sendJson(response, { text }));
  const { result, executed } = await attack({
    replies: [toolReply([{ name: 'tell', arguments: { text } }]), textReply(text)],
  });
  expect(result?.result).toMatchObject({ text, tool_calls: [{ arguments: { text }, result: { text } }] });
  expect(executed).toMatchObject([{ arguments: { text } }]);
});
