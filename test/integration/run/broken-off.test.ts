import { createRuntime, type Runtime, RuntimeError } from '../../../runtime';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import { type ModelServer, startModelServer, textReply } from '../../support/servers/model-server';

let database: TestDatabase;
let models: ModelServer;
let runtime: Runtime;

beforeAll(async () => {
  database = await createMigratedDatabase();
  models = await startModelServer();
  runtime = createRuntime({ database: { url: database.url }, model: { apiKey: 'k', baseUrl: models.url } });
});
afterAll(async () => {
  await runtime.close();
  await Promise.all([models.close(), database.close()]);
});

it('uses nothing of a reply that the provider broke off, but bills it', async () => {
  const tenantId = await addTenant(database);
  const { body } = textReply('half an ans') as { body: { choices: { finish_reason: string }[] } };
  models.script({ body: { ...body, choices: body.choices.map((choice) => ({ ...choice, finish_reason: 'error' })) } });
  const task = { config: { agent_tier: 'pro', message: 'x' }, meta: { tenant_id: tenantId } };
  const error = await runtime.run(task).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ code: 'LLM_UNAVAILABLE', result: { tokens: { total: 120 }, result: { text: '' } } });
  const rows = await database.query('SELECT total_tokens FROM elo_t_token_usage WHERE tenant_id = $1', [tenantId]);
  expect(rows).toEqual([{ total_tokens: 120 }]);
});

it('outlives a listener that throws or rejects', async () => {
  const tenantId = await addTenant(database);
  models.script(textReply('fine'));
  const onEvent = (): Promise<void> => Promise.reject(new Error('listener'));
  const task = { config: { agent_tier: 'pro', message: 'x' }, meta: { tenant_id: tenantId } };
  expect((await runtime.run(task, { onEvent })).result.text).toBe('fine');
});

it.each(['postgres://a:100%@h1,h2/b', 'mysql://localhost/b', 'not a url'])(
  'refuses the database URL %s, without showing it',
  (url) => {
    const create = (): Runtime => createRuntime({ database: { url }, model: { apiKey: 'k' } });
    expect(create).toThrow(RuntimeError);
    expect(create).toThrow(/database\.url/);
    expect(create).not.toThrow(/100%/);
  },
);
