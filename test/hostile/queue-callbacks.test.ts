import { untilTrue } from '../support/values/until';
import { type WorkerRun, workerWorld } from '../support/worlds/worker-world';

const world = workerWorld();

/** Pushes a task with the callback, and a good one behind it; gives what became of the first. */
async function deadOf(worker: WorkerRun, callback: object, meta: object = {}): Promise<string[]> {
  const before = world.models().received.length;
  const bad = world.order({ callback }, meta as Record<string, unknown>);
  const good = world.order();
  await world.push(bad, good);
  await world.reported(good);
  await untilTrue(async () => (await world.dead()).length > 0);
  expect(world.models().received.length - before).toBe(1);
  expect(worker.process.exitCode).toBeNull();
  return (await world.dead()).map(({ code }) => code);
}

describe('a webhook that leads inside', () => {
  const port = (): string => new URL(world.hooks().url).port;
  it.each([
    ['loopback', () => `http://127.0.0.1:${port()}/`],
    ['its name', () => `http://localhost:${port()}/`],
    ['its name with a dot', () => `http://localhost.:${port()}/`],
    ['IPv6', () => `http://[::1]:${port()}/`],
    ['mapped into IPv6', () => `http://[::ffff:127.0.0.1]:${port()}/`],
    ['the same in hexadecimal', () => `http://[::ffff:7f00:1]:${port()}/`],
    ['hexadecimal', () => `http://0x7f.1:${port()}/`],
    ['one number', () => `http://2130706433:${port()}/`],
    ['zero', () => `http://0:${port()}/`],
    ['behind credentials', () => `http://example.com@127.0.0.1:${port()}/`],
    ['metadata of the cloud', () => 'http://169.254.169.254/latest/meta-data/'],
    ['another protocol', () => 'gopher://127.0.0.1:6379/_FLUSHALL'],
    ['a file', () => 'file:///etc/passwd'],
  ])('case 24: is not sent, and nothing is spent: %s', async (_name, url) => {
    const worker = world.startWorker({ env: { AGENT_CALLBACK_HOSTS: '' } });
    const before = world.hooks().requests.length;
    const [code] = await deadOf(worker, { notify_webhook: url() });
    expect(['CALLBACK_HOST_FORBIDDEN', 'INPUT_INVALID']).toContain(code);
    expect(world.hooks().requests).toHaveLength(before);
  });

  it('case 24: by a name that leads outside when it is checked and inside when it is used', async () => {
    const preload = `import dns, { promises } from 'node:dns';
      import { syncBuiltinESMExports } from 'node:module';
      let asked = 0;
      const address = () => (asked++ === 0 ? '93.184.216.34' : '127.0.0.1');
      const { lookup } = dns;
      dns.lookup = (name, options, done = options) =>
        name !== 'rebind.example' ? lookup(name, options, done)
          : options.all ? done(null, [{ address: address(), family: 4 }]) : done(null, address(), 4);
      const asPromise = promises.lookup;
      promises.lookup = async (name, options = {}) =>
        name !== 'rebind.example' ? asPromise(name, options)
          : options.all ? [{ address: address(), family: 4 }] : { address: address(), family: 4 };
      syncBuiltinESMExports();`;
    const worker = world.startWorker({ preload, env: { AGENT_CALLBACK_HOSTS: '', AGENT_WORKER_ATTEMPTS: '1' } });
    const before = world.hooks().requests.length;
    const task = world.order({ callback: { notify_webhook: `http://rebind.example:${port()}/` } });
    await world.push(task);
    await untilTrue(async () => (await world.dead()).length > 0, 60_000);
    expect((await world.dead())[0]?.code).toBe('CALLBACK_HOST_FORBIDDEN');
    expect(world.hooks().requests).toHaveLength(before);
    expect(worker.process.exitCode).toBeNull();
  });

  it('case 24: by a redirect of an allowed host is not followed', async () => {
    world.hooks().answer = (_request, response) => {
      response.writeHead(307, { location: `http://localhost:${port()}/inside` }).end();
    };
    world.startWorker({ env: { AGENT_WORKER_ATTEMPTS: '1' } });
    await world.push(world.order({ callback: { notify_webhook: `${world.hooks().url}/outside` } }));
    await untilTrue(async () => (await world.dead()).length > 0, 60_000);
    expect(await world.dead()).toMatchObject([{ code: 'CALLBACK_REFUSED' }]);
    expect(world.hooks().requests.filter(({ path }) => path === '/inside')).toEqual([]);
  });
});

describe("a callback that names somebody else's key", () => {
  it.each([
    'elo:tasks:pending',
    'elo:tasks:pending:taken',
    'elo:tasks:pending:ingress',
    'elo:tasks:pending:queue:wait',
    'elo:tasks:pending:queue:meta',
    'elo:tasks:failed',
    'elo:tasks:video',
    'elo:agent:delivered:0',
    'elo:agent:outbox',
  ])('case 26: is refused, however generous the prefixes are: %s', async (key) => {
    const env = { AGENT_CALLBACK_KEY_PREFIXES: 'elo:', AGENT_FORWARD_LIST: 'elo:tasks:video' };
    const worker = world.startWorker({ env });
    for (const field of ['result_key', 'counter_key', 'status_key']) {
      await world.redis().client.del('elo:tasks:failed');
      expect(await deadOf(worker, { [field]: key })).toEqual(['CALLBACK_KEY_FORBIDDEN']);
    }
  });

  it('case 26: under an allowed prefix adds to it, and takes nothing away: keys are no secret between producers', async () => {
    const worker = world.startWorker();
    const first = world.order();
    await world.push(first);
    await world.reported(first);
    const { callback } = first;
    const second = world.order({ callback });
    await world.push(second);
    await worker.says('task done', 2);
    expect(await world.reports(first.task_id)).toMatchObject([{ task_id: second.task_id }, { task_id: first.task_id }]);
  });

  it.each([
    ['counter_key', 'a text', 'many'],
    ['counter_key', 'more than can be counted', '9'.repeat(30)],
    ['counter_key', 'less than nothing', '-5'],
    ['result_key', 'a text', 'x'],
  ])('case 26: leaves a %s alone that holds %s', async (field, _name, value) => {
    const { client } = world.redis();
    const worker = world.startWorker({ env: { AGENT_WORKER_ATTEMPTS: '1' } });
    await worker.says('worker started');
    const key = 'elo:counter:odd';
    await client.set(key, value);
    const { task_id: id, ...order } = world.order();
    await world.push({ ...order, task_id: id, callback: { [field]: key, status_key: `elo:status:${id}` } });
    await untilTrue(async () => (await world.dead()).length > 0);
    expect(await world.dead()).toMatchObject([{ code: 'CALLBACK_KEY_UNUSABLE' }]);
    expect(await client.get(key)).toBe(value);
    expect(await client.exists(`elo:status:${id}`)).toBe(0);
  });
});

it('case 20: a task cannot say itself how often it is tried, that it is run afresh, or that it is approved', async () => {
  const worker = world.startWorker({ env: { AGENT_WORKER_ATTEMPTS: '1' } });
  const forged = {
    delivery: { attempt: 1, max_attempts: 1_000_000 },
    attempts: 1_000_000,
    fresh: true,
    deliverFailure: false,
  };
  const failing = world.order({
    ...forged,
    task_type: 'http_request',
    config: { url: 'http://127.0.0.1:1/', method: 'GET' },
  });
  await world.push(failing);
  expect(await world.reported(failing)).toMatchObject([{ result: null, error_code: 'TASK_REQUEST_FAILED' }]);
  await untilTrue(async () => (await world.dead()).length > 0);
  expect(await world.dead()).toMatchObject([{ attempts: 1 }]);
  const task = world.order({ ...forged });
  await world.push(task);
  await world.reported(task);
  await world.redis().client.del('elo:tasks:pending:queue:completed');
  for (const key of await world.redis().client.keys('elo:tasks:pending:queue:*')) {
    if (/[0-9a-f]{64}$/.test(key)) await world.redis().client.del(key);
  }
  const done = worker.lines().filter(({ msg }) => msg === 'task done').length;
  await world.push(task);
  await worker.says('task done', done + 1);
  expect(await world.calls(task.task_id)).toEqual([{ closed: true }]);
  const approval = { run_id: '00000000-0000-4000-8000-000000000000', decision: 'approve' };
  const approved = world.order({ config: { approval } });
  await world.push(approved);
  expect((await world.reported(approved))[0]?.error_code).toMatch(/APPROVAL|INPUT/);
});
