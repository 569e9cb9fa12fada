import { createRuntime } from '../../../runtime';
import { addTenant, giveTool } from '../../support/servers/database';
import { textReply, toolReply } from '../../support/servers/model-server';
import { withCode } from '../../support/setup/matchers';
import { untilTrue } from '../../support/values/until';
import { runCli } from '../../support/worlds/cli';
import { API_KEY, workerWorld } from '../../support/worlds/worker-world';

const world = workerWorld();

/** Two ids that are one when they are read as numbers. */
const [ONE, TWO] = ['1099511627776123401', '1099511627776123402'] as const;
const IDENTITY = 'SELECT run_user_id AS user_id, run_client_id AS client_id FROM elo_t_token_usage WHERE task_id = $1';

const json = (taskId: string, meta: string, more = ''): string =>
  `{"task_id":${taskId},"task_type":"ai_agent","config":{"agent_tier":"pro","message":"Do ${taskId}"${more}},
    "meta":{"tenant_id":"${world.tenantId()}",${meta}},"callback":{"result_key":"elo:results:${taskId}"}}`;
const hooked = (taskId: string): string[] =>
  world.tools().requests.flatMap(({ body }) => (body.includes(`"task_id":"${taskId}"`) ? [body] : []));

it('queued tasks whose long ids differ at the end are two, of two users, and each is answered', async () => {
  world
    .models()
    .always(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? textReply('Done').body : toolReply([{ name: 'look' }]).body,
    );
  const worker = world.startWorker();
  await worker.says('worker started');
  const tasks = [ONE, TWO];
  await world.push(...tasks.map((id) => json(id, `"user_id":${id},"client_id":${id}`)));
  await untilTrue(async () => (await Promise.all(tasks.map(world.reports))).every(({ length }) => length > 0));
  for (const id of tasks) {
    expect(await world.reports(id)).toMatchObject([{ task_id: id, status: 'completed', error: null }]);
    expect(hooked(id)).toHaveLength(1);
    expect(hooked(id)[0]).toContain(`"user_id":"${id}"`);
    expect(await world.database().query(IDENTITY, [id])).toEqual([{ user_id: id, client_id: id }]);
  }
});

describe('on the command line and in the library', () => {
  const env = () => ({
    DATABASE_URL: world.database().url,
    OPENROUTER_API_KEY: API_KEY,
    OPENROUTER_BASE_URL: world.models().url,
  });

  it('a task read as text keeps the digits of its ids', async () => {
    world.models().script(toolReply([{ name: 'look' }]), textReply('Done'));
    const input = json(`9${ONE}`, `"user_id":${ONE}`);
    const { exitCode, stdout } = await runCli(['run', '--task', '-'], { env: env(), input });
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([0, { task_id: `9${ONE}` }]);
    expect(hooked(`9${ONE}`)[0]).toContain(`"user_id":"${ONE}"`);
  });

  it.each(['task_id', 'trace_id', 'client_id', 'dialog_id', 'user_id'])(
    'a number that has lost digits is refused as %s, before the model is asked',
    async (field) => {
      const runtime = createRuntime({ database: { url: world.database().url }, model: { apiKey: API_KEY } });
      const lost = Number(ONE);
      const isMeta = !['task_id', 'trace_id'].includes(field);
      const task = {
        config: { message: 'Hi', agent_tier: 'pro' },
        meta: { tenant_id: world.tenantId(), ...(isMeta ? { [field]: lost } : {}) },
        ...(isMeta ? {} : { [field]: lost }),
      };
      const message = expect.stringMatching(new RegExp(`${field} .*give it as text`)) as string;
      await expect(runtime.run(task as never)).rejects.toThrow(withCode('INPUT_INVALID', { message }));
      await runtime.close();
    },
  );

  it.each(['1099511627776123.401', '1e21'])('the number %s is refused as an id', async (number) => {
    const input = json('7', `"user_id":${number}`);
    const { stderr } = await runCli(['run', '--task', '-'], { env: env(), input });
    expect(stderr).toContain('meta.user_id is not valid (is a number that has lost its last digits');
  });

  it.each([9007199254740991, -9007199254740991, 12])('%s is an id as it is', async (id) => {
    world.models().script(textReply('Done'));
    const runtime = createRuntime({
      database: { url: world.database().url },
      model: { apiKey: API_KEY, baseUrl: world.models().url },
    });
    const { task_id } = await runtime.run({
      config: { message: 'Hi', agent_tier: 'pro' },
      meta: { tenant_id: world.tenantId(), user_id: id },
    });
    expect(await world.database().query(IDENTITY, [task_id])).toMatchObject([{ user_id: String(id) }]);
    await runtime.close();
  });

  it('fixed arguments of a tool are sent as they are written, also when its limits are changed', async () => {
    const tenantId = await addTenant(world.database());
    const { url } = world.tools();
    await giveTool(world.database(), tenantId, { code: 'fixed', endpoint: url });
    await world
      .database()
      .query(
        `UPDATE elo_t_tenant_tools SET custom_config = '{"fixed_arguments": {"order_id": ${ONE}}}' WHERE tenant_id = $1`,
        [tenantId],
      );
    const rules = `{"max_calls_per_run":5,"limits":{"n":{"max":${TWO}}}}`;
    const limited = await runCli(['tool', 'set-limits', 'fixed', '--tenant', tenantId, '--permissions', rules], {
      env: env(),
    });
    expect(limited).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(TWO) as string });
    const [row] = await world
      .database()
      .query<{ config: string }>('SELECT custom_config::text AS config FROM elo_t_tenant_tools WHERE tenant_id = $1', [
        tenantId,
      ]);
    expect(row?.config).toContain(ONE);
    expect(row?.config).toContain('max_calls_per_run');
    expect(await runCli(['tool', 'execute', 'fixed', '--tenant', tenantId], { env: env() })).toMatchObject({
      exitCode: 0,
    });
    expect(world.tools().requests.at(-1)?.body).toContain(`"order_id":${ONE}`);
  });

  it('a limit of money in any notation is that limit', async () => {
    world.models().script(textReply('Done', { prompt: 1250, completion: 340 }));
    const input = json('1', '"user_id":1', ',"max_cost_usd":5e-07');
    const { stderr, stdout } = await runCli(['run', '--task', '-'], { env: env(), input });
    expect(stdout + stderr).not.toContain('INPUT_INVALID');
  });
});
