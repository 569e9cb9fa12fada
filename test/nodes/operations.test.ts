import type { ICredentialDataDecryptedObject, INode, INodeParameters, IRun } from 'n8n-workflow';

import { UniversalAiAgent } from '../../nodes/UniversalAiAgent/UniversalAiAgent.node';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import { sendJson, startServer } from '../support/servers/http-server';
import { type ModelServer, startModelServer, textReply } from '../support/servers/model-server';
import { startRedis, type TestRedis } from '../support/servers/redis';
import { outputOf, runInEngine } from '../support/worlds/n8n-engine';

const TYPE = 'n8n-nodes-universal-ai-agent.universalAiAgent';
const PENDING = 'elo:tasks:pending';

let database: TestDatabase;
let models: ModelServer;
let redis: TestRedis;
let tenant: string;

beforeAll(async () => {
  [database, models, redis] = await Promise.all([createMigratedDatabase(), startModelServer(), startRedis()]);
  tenant = await addTenant(database);
});
afterAll(() => Promise.all([database.close(), models.close(), redis.close()]));
beforeEach(async () => {
  await redis.client.flushall();
  models.received.length = 0;
  models.always((request) => textReply(`to: ${request.messages.at(-1)?.content ?? ''}`).body);
});

interface NodeRun {
  readonly items: readonly object[];
  readonly parameters: INodeParameters;
  /** Without it only Redis is there. */
  readonly withAll?: boolean;
  readonly without?: readonly string[];
  readonly node?: Partial<INode>;
  readonly executionId?: string;
}

async function run({
  items,
  parameters,
  withAll = false,
  without = [],
  node = {},
  executionId,
}: NodeRun): Promise<IRun> {
  const redisCredential = { host: '127.0.0.1', port: redis.port, password: redis.password, user: '', database: 0 };
  const all: Record<string, ICredentialDataDecryptedObject> = {
    redis: redisCredential,
    ...(withAll
      ? { openRouterApi: { apiKey: 'sk-node', url: models.url }, postgres: postgresCredential(database.url) }
      : {}),
  };
  const credentials = Object.fromEntries(Object.entries(all).filter(([name]) => !without.includes(name)));
  const common = { typeVersion: 4, position: [0, 0] as [number, number] };
  const agent: INode = {
    ...common,
    id: 'agent',
    name: 'Agent',
    type: TYPE,
    parameters: { ...parameters, options: { useRedis: true, ...(parameters.options as INodeParameters) } },
    credentials: Object.fromEntries(Object.keys(credentials).map((name) => [name, { id: name, name }])),
    ...node,
  };
  const start: INode = { ...common, id: 'start', name: 'Items', type: 'test.items', parameters: {} };
  return runInEngine({
    workflow: {
      nodes: [start, agent],
      connections: { Items: { main: [[{ node: 'Agent', type: 'main', index: 0 }]] } },
    },
    items: items as never,
    credentials,
    executionId,
  });
}

async function outputs(options: NodeRun): Promise<readonly Record<string, unknown>[]> {
  const ended = await run(options);
  const { error } = ended.data.resultData;
  if (error !== undefined) throw new Error(`${error.message} ${error.description ?? ''}`);
  return outputOf(ended, 'Agent').map(({ json }) => json);
}
async function list(key: string): Promise<Record<string, unknown>[]> {
  return (await redis.client.lrange(key, 0, -1)).map((entry) => JSON.parse(entry) as Record<string, unknown>);
}
const task = (id: string, more: object = {}): object => ({
  task_id: id,
  trace_id: `trace-${id}`,
  task_type: 'ai_agent',
  config: { message: 'hello', agent_tier: 'pro' },
  meta: { tenant_id: tenant },
  ...more,
});
const withCallback = (id: string, more: object = {}): object =>
  task(id, {
    callback: { result_key: `elo:results:${id}`, counter_key: `elo:counter:${id}`, status_key: `elo:status:${id}` },
    ...more,
  });
const item: INodeParameters = { options: { inputMode: 'item' } };

describe('Enqueue Task', () => {
  const fields: INodeParameters = {
    operation: 'enqueue',
    tenantId: { __rl: true, mode: 'id', value: '={{ $json.tenant }}' },
    tier: 'pro',
    message: '={{ $json.message }}',
  };

  it('pushes a task made of the fields and options, with Redis alone', async () => {
    const options = { maxIterations: 3, priority: 5, taskList: 'my:tasks', resultKey: 'elo:results:mine' };
    const items = [{ tenant, message: 'one' }];
    const [output] = await outputs({ items, parameters: { ...fields, options } });
    const [pushed] = await list('my:tasks');
    expect(pushed).toMatchObject({
      task_type: 'ai_agent',
      config: { message: 'one', agent_tier: 'pro', max_iterations: 3 },
      meta: { tenant_id: tenant },
      callback: { result_key: 'elo:results:mine' },
      priority: 5,
    });
    expect(output).toEqual({ task_id: pushed?.task_id, trace_id: pushed?.trace_id, result_key: 'elo:results:mine' });
    expect(pushed?.config).not.toHaveProperty('priority');
  });

  it('pushes the item as it is where the item is the task', async () => {
    const given = task('given', { code: 'x', meta: { tenant_id: tenant, level: 2 } });
    const [output] = await outputs({ items: [given], parameters: { ...item, operation: 'enqueue' } });
    expect(output).toEqual({ task_id: 'given', trace_id: 'trace-given', result_key: 'elo:results:trace-given' });
    expect(await list(PENDING)).toMatchObject([{ ...given, callback: { result_key: 'elo:results:trace-given' } }]);
  });

  it('makes the same task of the same item when n8n tries again', async () => {
    const again = { items: [{ tenant, message: 'x' }], parameters: fields, executionId: 'execution-9' };
    const [first] = await outputs(again);
    const [second] = await outputs(again);
    expect(second?.task_id).toBe(first?.task_id);
  });

  it('answers to keys that the options allow', async () => {
    const options = { callbackKeyPrefixes: 'own:results:', resultKey: 'own:results:mine' };
    const [output] = await outputs({ items: [{ tenant, message: 'x' }], parameters: { ...fields, options } });
    expect(output?.result_key).toBe('own:results:mine');
  });

  it.each([
    ['resultKey', 'RESULT_UNTRUSTED'],
    ['taskList', 'INPUT_INVALID'],
  ])('as a tool of another agent, lets no model name the %s', async (name, code) => {
    const options = { [name]: "={{ $fromAI('Name', ``, 'string') }}" };
    const parameters = { ...fields, tenantId: { __rl: true, mode: 'id', value: tenant }, message: 'x', options };
    const items = [{ query: { Name: 'elo:results:other' } }];
    const ended = await run({ items, parameters, node: { type: `${TYPE}Tool` } });
    expect(ended.data.resultData.error?.description).toContain(code);
    expect(await redis.client.keys('*')).toEqual([]);
  });

  it('needs a Redis credential, and says so', async () => {
    await expect(
      outputs({ items: [{ tenant, message: 'x' }], parameters: fields, without: ['redis'] }),
    ).rejects.toThrow('REDIS_MISSING');
  });

  it('refuses what a consumer would refuse', async () => {
    await expect(outputs({ items: [{ tenant, message: '' }], parameters: fields })).rejects.toThrow('INPUT_INVALID');
    expect(await list(PENDING)).toEqual([]);
  });
});

describe('Get Result', () => {
  const parameters: INodeParameters = {
    operation: 'getResult',
    resultKey: '={{ $json.result_key }}',
    taskId: '={{ $json.task_id }}',
    waitSeconds: 0.2,
  };
  const query = { result_key: 'elo:results:r', task_id: 'b' };
  const report = (id: string, more: object = {}): object => ({
    task_id: id,
    trace_id: 'r',
    result: { text: `answer of ${id}`, tool_calls: [] },
    tokens: { prompt: 5, completion: 2, total: 7 },
    error: null,
    ...more,
  });
  const answer = (...reports: readonly object[]): Promise<number> =>
    redis.client.lpush('elo:results:r', ...reports.map((entry) => JSON.stringify(entry)));

  it('gives the report of the task, as if the agent had run here, and leaves it there', async () => {
    await answer(report('a'), report('b'), report('c'));
    const [output] = await outputs({ items: [query], parameters });
    expect(output).toMatchObject({ task_id: 'b', output: 'answer of b', tokenUsage: { totalTokens: 7 } });
    expect(output).not.toHaveProperty('error');
    expect(await redis.client.llen('elo:results:r')).toBe(3);
  });

  it('waits for it', async () => {
    const waiting = outputs({ items: [query], parameters: { ...parameters, waitSeconds: 20 } });
    await answer(report('b'));
    expect((await waiting)[0]?.output).toBe('answer of b');
  });

  it('gives the report of a task that failed, with its error', async () => {
    await answer(report('b', { result: null, error: 'No such tier.', error_code: 'TIER_UNKNOWN' }));
    const [output] = await outputs({ items: [query], parameters });
    const sentence = 'Something went wrong and I could not answer. Please try again or contact us.';
    expect(output).toMatchObject({
      result: null,
      error: 'No such tier.',
      error_code: 'TIER_UNKNOWN',
      output: sentence,
    });
    const [old] = await outputs({ items: [query], parameters, node: { typeVersion: 3 } });
    expect(old).toMatchObject({ output: '' });
  });

  it('says that there is none in time, and sends that to the error output', async () => {
    await expect(outputs({ items: [query], parameters })).rejects.toThrow('RESULT_NOT_READY');
    const ended = await run({ items: [query], parameters, node: { onError: 'continueErrorOutput' } });
    expect(outputOf(ended, 'Agent', 1)[0]?.json).toMatchObject({ error: { code: 'RESULT_NOT_READY' } });
  });

  it('reads no other keys than those of results', async () => {
    const other = { ...query, result_key: 'tenant:secrets' };
    await expect(outputs({ items: [other], parameters })).rejects.toThrow('CALLBACK_KEY_FORBIDDEN');
  });

  it('reads keys that the options allow', async () => {
    await redis.client.lpush('own:results:r', JSON.stringify(report('b')));
    const own = { ...query, result_key: 'own:results:r' };
    const options = { callbackKeyPrefixes: 'own:results:' };
    expect(await outputs({ items: [own], parameters: { ...parameters, options } })).toMatchObject([{ task_id: 'b' }]);
  });

  it.each([
    '={{ $json.result_key }}',
    "={{ /*n8n-auto-generated-fromAI-override*/ $fromAI('Result_Key', ``, 'string') }}",
    '={{ $tool.parameters.key }}',
  ])('as a tool of another agent, lets no model name the key by %s', async (resultKey) => {
    await answer(report('b'));
    const items = [{ ...query, query: { Result_Key: 'elo:results:r' } }];
    const ended = await run({ items, parameters: { ...parameters, resultKey }, node: { type: `${TYPE}Tool` } });
    expect(ended.data.resultData.error?.description).toContain('RESULT_UNTRUSTED');
  });
});

describe('Run Task with a callback', () => {
  it('writes the answer to where the task says, and gives the usual item', async () => {
    const [output] = await outputs({ items: [withCallback('ok')], parameters: item, withAll: true });
    expect(output).toMatchObject({ output: 'to: hello', status: 'completed', tokenUsage: { totalTokens: 120 } });
    expect(output).not.toHaveProperty('error');
    expect(await list('elo:results:ok')).toMatchObject([{ task_id: 'ok', error: null, tokens_used: 120 }]);
    expect(await redis.client.get('elo:counter:ok')).toBe('1');
    expect(await redis.client.get('elo:status:ok')).toBe('complete');
    expect(await redis.client.ttl('elo:results:ok')).toBeGreaterThan(0);
  });

  it('writes it once, however often the task comes', async () => {
    for (let times = 0; times < 2; times++) {
      await outputs({ items: [withCallback('once')], parameters: item, withAll: true });
    }
    expect(await list('elo:results:once')).toHaveLength(1);
    expect(models.received).toHaveLength(1);
  });

  it('warns of what is not written where there is no Redis', async () => {
    const [output] = await outputs({
      items: [withCallback('no')],
      parameters: item,
      withAll: true,
      without: ['redis'],
    });
    expect(output).toMatchObject({ output: 'to: hello', warnings: [{ code: 'CALLBACK_NOT_DELIVERED' }] });
  });

  it('fails without Redis when the task is one of the trigger, which waits for an answer', async () => {
    const items = [{ ...withCallback('no'), delivery: { attempt: 1, max_attempts: 2, acknowledge: 'immediately' } }];
    const running = outputs({ items, parameters: item, withAll: true, without: ['redis'] });
    await expect(running).rejects.toThrow('REDIS_MISSING');
    expect(models.received).toEqual([]);
  });

  it('writes nothing where it is told not to', async () => {
    const parameters = { options: { inputMode: 'item', writeCallback: false } };
    const [output] = await outputs({ items: [withCallback('quiet')], parameters, withAll: true });
    expect(output).toMatchObject({ output: 'to: hello' });
    expect(await list('elo:results:quiet')).toEqual([]);
  });

  it('does tasks of the other types, whose options are their own', async () => {
    models.always(() => textReply('<think>hm</think>{"value": true}').body);
    const extraction = withCallback('extract', {
      task_type: 'llm_extraction',
      config: { message: 'yes', prompt: 'Is it? {{message}}', output_schema: { type: 'object' }, agent_tier: 'pro' },
    });
    const parameters = { options: { inputMode: 'item', temperature: 1.5 } };
    const [output] = await outputs({ items: [extraction], parameters, withAll: true });
    expect(output).toMatchObject({ task_id: 'extract', result: { value: true } });
    expect(models.received[0]?.temperature).toBe(0.1);
    expect(await list('elo:results:extract')).toMatchObject([{ result: { value: true }, error: null }]);
  });

  it('answers unknown types as such', async () => {
    const unknown = withCallback('unknown', { task_type: 'paint' });
    await expect(outputs({ items: [unknown], parameters: item, withAll: true })).rejects.toThrow('TASK_TYPE_UNKNOWN');
    expect(await list('elo:results:unknown')).toMatchObject([{ result: null, error: 'Unknown task_type: paint' }]);
  });

  it('writes to keys and hosts that the options allow', async () => {
    const own = task('own', { callback: { result_key: 'own:results:1' } });
    await expect(outputs({ items: [own], parameters: item, withAll: true })).rejects.toThrow('CALLBACK_KEY_FORBIDDEN');
    const parameters = { options: { inputMode: 'item', callbackKeyPrefixes: 'own:results:, x:' } };
    await outputs({ items: [own], parameters, withAll: true });
    expect(await list('own:results:1')).toHaveLength(1);
  });
});

describe('a failure', () => {
  const delivery = (acknowledge: string, attempt = 1): object => ({
    delivery: { attempt, max_attempts: 2, acknowledge },
  });
  const unknownTier = { config: { message: 'x', agent_tier: 'gold' } };
  const retries = { retryOnFail: true, maxTries: 2, waitBetweenTries: 1 };
  const goesOn = { onError: 'continueRegularOutput' } as const;

  interface Failure {
    readonly item?: object;
    readonly node?: Partial<INode>;
    /** With a tier that is not there; else the provider fails, which may pass. */
    readonly isLasting?: boolean;
  }
  async function answersTo({ item: more, node, isLasting = false }: Failure): Promise<unknown[]> {
    models.always(() => ({ error: { code: 500, message: 'away' } }));
    const failing = withCallback('failing', { ...more, ...(isLasting ? unknownTier : {}) });
    await run({ items: [failing], parameters: item, withAll: true, node });
    return list('elo:results:failing');
  }

  it.each<[string, Failure]>([
    ['no trigger brings the task again', {}],
    ['the execution has finished with it', { item: delivery('executionFinishes'), isLasting: true }],
    ['it was the last try', { item: delivery('executionSucceeds', 2) }],
    ['no other try mends it', { item: delivery('executionSucceeds'), isLasting: true }],
    ['the execution goes on, so that the trigger sees no error', { item: delivery('executionSucceeds'), node: goesOn }],
    ['n8n tries the node again, but in vain', { node: retries, isLasting: true }],
  ])('is the answer where %s', async (_where, failure) => {
    const code: unknown = failure.isLasting === true ? 'TIER_UNKNOWN' : expect.stringMatching(/^LLM_/);
    expect(await answersTo(failure)).toMatchObject([{ result: null, error_code: code }]);
  });

  it.each<[string, Failure]>([
    ['another try follows', { item: delivery('executionSucceeds') }],
    ['n8n tries the node again', { node: retries }],
  ])('is not the answer where %s', async (_where, failure) => {
    expect(await answersTo(failure)).toEqual([]);
  });
});

describe('the error of an execution whose task is tried again for its webhook', () => {
  const errorOf = async (callback: object, delivery: object, config = {}): Promise<string> => {
    const given = withCallback('hook', { config: { message: 'hello', agent_tier: 'pro', ...config } });
    const items = [{ ...given, callback: { ...(given as { callback: object }).callback, ...callback }, delivery }];
    const parameters = { options: { inputMode: 'item', callbackHosts: '127.0.0.1' } };
    const ended = await run({ items, parameters, withAll: true });
    return ended.data.resultData.error?.message ?? '';
  };
  const delivery = (attempt: number, more: object = {}): object => ({
    attempt,
    max_attempts: 8,
    acknowledge: 'executionFinishes',
    ...more,
  });
  let closed: string;

  beforeAll(async () => {
    const server = await startServer((_request, response) => sendJson(response, {}, 503));
    closed = server.url;
    closeLater = server.close;
  });
  afterAll(() => closeLater());
  let closeLater: () => Promise<unknown> = () => Promise.resolve();

  it('says so, and which try it was', async () => {
    const webhook = { notify_webhook: `${closed}/hook` };
    expect(await errorOf(webhook, delivery(3))).toMatch(/^The result is stored.* Trying again \(3 of 8\)\.$/);
    expect(await errorOf(webhook, delivery(8))).toMatch(/That was the last try \(8 of 8\)\.$/);
  });

  it('says so too where the answer is a failure', async () => {
    const again = delivery(3, { last_error: 'CALLBACK_FAILED' });
    const told = await errorOf({}, again, { agent_tier: 'gold' });
    expect(told).toMatch(/^Tier "gold" is not configured.*its webhook cannot be reached, and this was try 3 of 8\.$/);
    expect(await list('elo:results:hook')).toMatchObject([{ error: expect.not.stringContaining('webhook') as string }]);
  });

  it('says nothing of it where the try before failed otherwise', async () => {
    const told = await errorOf({}, delivery(3, { last_error: 'EXECUTION_LOST' }), { agent_tier: 'gold' });
    expect(told).not.toContain('webhook');
  });
});

it('offers no operation that the node does not have', async () => {
  await expect(outputs({ items: [{}], parameters: { operation: '__CUSTOM_API_CALL__' } })).rejects.toThrow('operation');
  const { version, defaultVersion } = new UniversalAiAgent().getNodeType().description;
  // Then n8n adds none, see load-nodes-and-credentials.js.
  expect(version === defaultVersion).toBe(false);
});
