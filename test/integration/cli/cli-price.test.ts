import { createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { sendJson, startServer, type TestServer } from '../../support/servers/http-server';
import { type CliOutcome, errorLine, runCli } from '../../support/worlds/cli';

const MINI = 'openai/gpt-4o-mini';
const SONNET = 'anthropic/claude-3.5-sonnet';
const LIST = {
  data: [
    { id: MINI, pricing: { prompt: '0.00000015', completion: '0.0000006', input_cache_read: '0.000000075' } },
    { id: 'qwen/qwen3-8b', pricing: { prompt: '0.00000007', completion: '0.00000007' } },
    {
      id: SONNET,
      pricing: {
        prompt: '0.000003',
        completion: '0.000015',
        input_cache_read: '0.0000003',
        input_cache_write: '0.00000375',
      },
    },
    { id: 'openrouter/auto', pricing: { prompt: '-1', completion: '-1' } },
  ],
};

let database: TestDatabase;
let list: string;
let server: TestServer | undefined;

beforeEach(async () => {
  database = await createMigratedDatabase();
  list = JSON.stringify(LIST);
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await database.close();
});

const cli = (args: readonly string[], env: Record<string, string> = {}) =>
  runCli(['price', ...args], { env: { DATABASE_URL: database.url, ...env }, input: list });

function printed({ exitCode, stdout, stderr }: CliOutcome): Record<string, unknown> {
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout) as Record<string, unknown>;
}

const prices = () => database.query('SELECT * FROM elo_model_pricing ORDER BY model_id');
const tiers = () => database.query('SELECT code, model_id FROM elo_agent_tiers ORDER BY rank');

it('adds the prices that are missing, changes none, and tells what differs and which tiers are out of date', async () => {
  const before = await prices();
  const report = printed(await cli(['sync', '--list', '-']));
  expect(report).toMatchObject({
    models: 4,
    dry_run: false,
    added: [
      { model_id: SONNET, input_cost_per_1m: '3', cached_input_cost_per_1m: '0.3', cache_write_cost_per_1m: '3.75' },
    ],
    overwritten: [],
    differing: [
      { model_id: MINI, ours: { cached_input_cost_per_1m: null }, theirs: { cached_input_cost_per_1m: '0.075' } },
    ],
    unchanged: 1,
    skipped: [{ model_id: 'openrouter/auto' }],
    unlisted: ['anthropic/claude-3-5-sonnet', 'anthropic/claude-3-haiku', 'qwen/qwen3-4b:free'],
  });
  expect(report.tiers).toMatchObject([
    { tier: 'nano', is_listed: false, is_priced: true },
    { tier: 'small', is_listed: true, is_priced: true },
    { tier: 'optima', is_listed: false },
    { tier: 'pro', is_listed: true },
    { tier: 'expert', is_listed: false, nearest: [SONNET, expect.anything(), expect.anything()] },
  ]);
  const after = await prices();
  expect(after.filter(({ model_id }) => model_id !== SONNET)).toEqual(before);
  expect(printed(await cli(['sync', '--list', '-']))).toMatchObject({ added: [], unchanged: 2 });
});

it('writes over the prices that are named, and gives tiers the models that they are told', async () => {
  const args = ['sync', '--list', '-', '--overwrite', MINI, '--tiers', `expert=${SONNET}`];
  const plan = printed(await cli([...args, '--dry-run']));
  expect(plan).toMatchObject({ dry_run: true, overwritten: [{ model_id: MINI }] });
  expect(await prices()).toHaveLength(5);
  const report = printed(await cli(args));
  expect(report).toEqual({ ...plan, dry_run: false });
  expect(report.tiers).toContainEqual({
    tier: 'expert',
    model_id: SONNET,
    was: 'anthropic/claude-3-5-sonnet',
    is_listed: true,
    is_priced: true,
  });
  expect(await prices()).toContainEqual(expect.objectContaining({ model_id: MINI, cached_input_cost_per_1m: '0.075' }));
  expect(await tiers()).toContainEqual({ code: 'expert', model_id: SONNET });
  expect(await tiers()).toContainEqual({ code: 'pro', model_id: MINI });
});

it.each([
  [['--tiers', 'expert=anthropic/claude-4'], 'MODEL_NOT_LISTED', SONNET],
  [['--tiers', `gold=${SONNET}`], 'TIER_UNKNOWN', 'gold'],
  [['--overwrite', 'openai/gpt-4'], 'MODEL_NOT_LISTED', MINI],
  [['--overwrite', 'openrouter/auto'], 'MODEL_NOT_LISTED', 'with a price'],
  [['--tiers', 'expert=openrouter/auto'], 'MODEL_NOT_LISTED', 'with a price'],
])('changes nothing at all where one of the things asked cannot be done: %j', async (args, code, told) => {
  const before = await prices();
  const outcome = await cli(['sync', '--list', '-', ...args]);
  expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
  expect(errorLine(outcome)).toMatchObject({ code, message: expect.stringContaining(told) as string });
  expect(await prices()).toEqual(before);
});

it("asks the provider's own address with its key, page by page, and no other address with it", async () => {
  server = await startServer((request, response) => {
    const isSecond = request.path.includes('offset');
    const data = LIST.data.slice(isSecond ? 2 : 0, isSecond ? 4 : 2);
    sendJson(response, { data, ...(isSecond ? {} : { links: { next: '/v1/models?offset=2' } }) });
  });
  const env = { OPENROUTER_BASE_URL: `${server.url}/v1`, OPENROUTER_API_KEY: 'sk-secret' };
  expect(printed(await cli(['sync', '--dry-run'], env))).toMatchObject({ models: 4 });
  expect(server.requests.map(({ path: asked, headers }) => [asked, headers.authorization])).toEqual([
    ['/v1/models', 'Bearer sk-secret'],
    ['/v1/models?offset=2', 'Bearer sk-secret'],
  ]);
  expect(printed(await cli(['sync', '--dry-run', '--from', `${server.url}/v1/models`], env))).toMatchObject({
    models: 4,
  });
  expect(server.requests.at(-1)?.headers.authorization).toBeUndefined();
});

it('gives a tier a model that the list names without a price, once it has one of ours', async () => {
  printed(await cli(['set', 'openrouter/auto', '1', '2']));
  printed(await cli(['sync', '--list', '-', '--tiers', 'expert=openrouter/auto']));
  expect(await tiers()).toContainEqual({ code: 'expert', model_id: 'openrouter/auto' });
});

it('sends the name and the password of an address as a header, with each page, and prints neither', async () => {
  server = await startServer((request, response) => {
    const isSecond = request.path.includes('offset');
    sendJson(response, { data: LIST.data, ...(isSecond ? {} : { links: { next: '/models?offset=2' } }) });
  });
  const address = server.url.replace('//', '//me:p%40ss-canary@');
  const outcome = await cli(['sync', '--dry-run', '--from', `${address}/models`]);
  expect(printed(outcome)).toMatchObject({ source: `${server.url}/models` });
  const basic = `Basic ${Buffer.from('me:p@ss-canary').toString('base64')}`;
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([basic, basic]);
  expect(outcome.stdout).not.toContain('canary');
});

it.each(['http://me:pw-canary@127.0.0.1:9/models', 'http://me:pw-canary@127.0.0.1:99999/models?key=pw-canary'])(
  'prints no password of an address that cannot be read: %s',
  async (address) => {
    const outcome = await cli(['sync', '--from', address]);
    expect(errorLine(outcome)).toMatchObject({ code: 'PRICE_LIST_UNREACHABLE' });
    expect(outcome.stderr).not.toContain('canary');
  },
);

interface BadAnswer {
  readonly body: string;
  readonly status?: number;
  readonly code: string;
}

it.each<[string, BadAnswer]>([
  ['HTML', { body: '<html>', code: 'PRICE_LIST_INVALID' }],
  ['a failure', { body: '{}', status: 503, code: 'PRICE_LIST_UNREACHABLE' }],
  [
    'a page of another server next',
    { body: '{"data":[{"id":"a/b"}],"links":{"next":"http://127.0.0.1:9/"}}', code: 'PRICE_LIST_INVALID' },
  ],
  ['a next page for ever', { body: '{"data":[{"id":"a/b"}],"links":{"next":"?again"}}', code: 'PRICE_LIST_INVALID' }],
  ['more than fits', { body: ' '.repeat(33 * 1024 * 1024), code: 'PRICE_LIST_INVALID' }],
])('takes no prices from a server that answers with %s', async (_what, { body, status = 200, code }) => {
  server = await startServer((_request, response) => void response.writeHead(status).end(body));
  const before = await prices();
  const outcome = await cli(['sync', '--from', `${server.url}/models?key=secret`]);
  expect(errorLine(outcome)).toMatchObject({ code });
  expect(outcome.stderr).not.toContain('secret');
  expect(await prices()).toEqual(before);
});

it('fills a price that is empty, and skips one that an adopted column would round', async () => {
  await database.query(`
    INSERT INTO elo_model_pricing (model_id, input_cost_per_1m, output_cost_per_1m) VALUES ('x/empty', 9, 9);
    ALTER TABLE elo_model_pricing ALTER COLUMN input_cost_per_1m TYPE NUMERIC(10, 4),
      ALTER COLUMN input_cost_per_1m DROP NOT NULL;
    UPDATE elo_model_pricing SET input_cost_per_1m = NULL WHERE model_id = 'x/empty'`);
  const data = [
    { id: 'x/empty', pricing: { prompt: '0.000001', completion: '0.000002' } },
    { id: 'x/fine', pricing: { prompt: '0.00000012345', completion: '0' } },
  ];
  list = JSON.stringify({ data });
  expect(printed(await cli(['sync', '--list', '-']))).toMatchObject({
    added: [{ model_id: 'x/empty', input_cost_per_1m: '1' }],
    skipped: [{ model_id: 'x/fine', reason: expect.stringContaining('4 places') as string }],
  });
  expect(await prices()).toContainEqual(expect.objectContaining({ model_id: 'x/empty', input_cost_per_1m: '1.0000' }));
  const outcome = await cli(['set', 'x/fine', '0.12345', '0']);
  expect(errorLine(outcome)).toMatchObject({ code: 'PRICE_INVALID' });
});

it('sets a price, also in place of another, and lists all of them', async () => {
  const row = {
    model_id: 'my/model',
    input_cost_per_1m: '0.15',
    output_cost_per_1m: '0.60',
    reasoning_cost_per_1m: '1',
  };
  const args = ['set', 'my/model', '--output-per-1m', '0.60', '--reasoning-per-1m', '1'];
  expect(printed(await cli([...args, '--input-per-1m', '9']))).toMatchObject({ ...row, input_cost_per_1m: '9' });
  expect(printed(await cli([...args, '--input-per-1m', '0.15', '--provider', 'mine']))).toMatchObject(row);
  const { prices: listed } = printed(await cli(['list'])) as { prices: readonly unknown[] };
  expect(listed).toHaveLength(6);
  expect(listed).toContainEqual(expect.objectContaining(row));
});
