import { Client } from 'pg';

import { createRuntime } from '../../../runtime';
import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { sendJson } from '../../support/servers/http-server';
import { type ScriptedReply, textReply, toolReply } from '../../support/servers/model-server';
import { type AgentFixture, aTask, eventually, gate, startAgentFixture } from '../../support/values/agent-fixture';
import { everyTimerBut } from '../../support/values/timers';

let agent: AgentFixture;

beforeAll(async () => {
  agent = await startAgentFixture();
});
afterAll(() => agent.close());

let counting = Promise.resolve(0);

/** The runtime's connections; one count after the other, since the test has one connection of its own. */
function connections(): Promise<number> {
  counting = counting.then(async () => {
    const [row] = await agent.database.query<{ open: number }>(
      `SELECT count(*)::int AS open FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'universal-ai-agent'`,
    );
    return row?.open ?? -1;
  });
  return counting;
}

/** What was closed may still be there for a moment. */
const noneLeft = () => eventually(async () => ((await connections()) === 0 ? true : undefined));

const newRuntime = (maxConnections?: number) =>
  createRuntime({
    database: { url: agent.database.url, maxConnections },
    model: { apiKey: 'sk-test-key', baseUrl: agent.models.url },
  });

it('looks for tables in the schema that the address names', async () => {
  const { query, close } = createPostgres({ url: `${agent.database.url}?schema=My%20%22Agent%5C`, maxConnections: 1 });
  const [row] = await query<{ path: string }>({ text: `SELECT current_setting('search_path') AS path`, values: [] });
  expect(row?.path).toBe('"My ""Agent\\"');
  await close();
});

it('serves fifty runs at once over ten connections, and closes them all', async () => {
  const runtime = newRuntime();
  await noneLeft();
  const samples: number[] = [];
  const asked = gate();
  let waiting = 0;
  // Every run is under way at the same moment: none is answered before all have asked.
  agent.models.script(
    ...Array.from({ length: 50 }, (): ScriptedReply => async (_request, response) => {
      samples.push(await connections());
      if (++waiting === 50) asked.open();
      await asked.opened;
      sendJson(response, textReply('Done.').body);
    }),
  );
  const results = await Promise.all(Array.from({ length: 50 }, () => runtime.run(aTask(agent.tenantId))));
  samples.push(await connections());
  expect(results.every(({ status, warnings }) => status === 'completed' && warnings.length === 0)).toBe(true);
  expect(Math.max(...samples)).toBeLessThanOrEqual(10);
  expect(Math.max(...samples)).toBeGreaterThan(1);

  await runtime.close();
  await runtime.close();
  await noneLeft();
});

it('keeps to a smaller limit', async () => {
  const runtime = newRuntime(2);
  await noneLeft();
  const samples: number[] = [];
  agent.models.script(
    ...Array.from({ length: 20 }, (): ScriptedReply => async (_request, response) => {
      samples.push(await connections());
      sendJson(response, textReply('Done.').body);
    }),
  );
  await Promise.all(Array.from({ length: 20 }, () => runtime.run(aTask(agent.tenantId))));
  await runtime.close();
  expect(Math.max(...samples)).toBeLessThanOrEqual(2);
});

it('opens no connection before the first run, and none for a task that is not valid', async () => {
  await noneLeft();
  const runtime = newRuntime();
  await expect(runtime.run({})).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  expect(await connections()).toBe(0);
  await runtime.close();
});

it('closes a connection that was not used for a while', async () => {
  await noneLeft();
  jest.useFakeTimers({ doNotFake: everyTimerBut('setTimeout', 'clearTimeout') });
  const postgres = createPostgres({ url: agent.database.url, maxConnections: 2 });
  try {
    await postgres.query({ text: 'SELECT 1', values: [] });
    expect(await connections()).toBe(1);
    jest.advanceTimersByTime(60_000);
  } finally {
    jest.useRealTimers();
  }
  await noneLeft();
  await postgres.close();
});

describe('the round trips of a warm run', () => {
  let seen: string[];
  let spy: jest.SpyInstance;

  beforeEach(async () => {
    agent.models.script(textReply('Warm.'));
    await agent.runtime.run(aTask(agent.tenantId));
    seen = [];
    const query = Object.getOwnPropertyDescriptor(Client.prototype, 'query')?.value as (...args: unknown[]) => unknown;
    spy = jest.spyOn(Client.prototype, 'query').mockImplementation(function (this: Client, ...args: unknown[]) {
      seen.push('sql');
      return query.apply(this, args);
    });
  });
  afterEach(() => spy.mockRestore());

  const noted =
    (reply: { readonly body: unknown }): ScriptedReply =>
    (_request, response) => {
      seen.push('model');
      sendJson(response, reply.body);
    };
  const aStep = toolReply([{ name: 'echo' }]);
  const anAnswer = textReply('Done.');

  it('are two before the first model call, one a step, and one at the end', async () => {
    agent.models.script(noted(aStep), noted(aStep), noted(anAnswer));
    await agent.runtime.run(aTask(agent.tenantId));
    expect(seen).toEqual(['sql', 'sql', 'model', 'sql', 'model', 'sql', 'model', 'sql']);
  });

  it('are three for one that answers at once', async () => {
    agent.models.script(noted(anAnswer));
    await agent.runtime.run(aTask(agent.tenantId));
    expect(seen).toEqual(['sql', 'sql', 'model', 'sql']);
  });

  it('are two for one that was done before', async () => {
    const task = aTask(agent.tenantId);
    agent.models.script(anAnswer);
    await agent.runtime.run(task);
    seen = [];
    await agent.runtime.run(task);
    expect(seen).toEqual(['sql', 'sql']);
  });

  it('are no more for one that is not billed, and no fewer for one that fails', async () => {
    agent.models.script(noted(anAnswer), noted(aStep));
    await agent.runtime.run(aTask(agent.tenantId, { agent_tier: 'nano' }));
    await expect(agent.runtime.run(aTask(agent.tenantId, { max_iterations: 1 }))).rejects.toThrow();
    expect(seen).toEqual(['sql', 'sql', 'model', 'sql', 'sql', 'sql', 'model', 'sql', 'sql']);
  });
});
