import { createRuntime, type Runtime } from '../../../runtime';
import { countTokens } from '../../../runtime/util/text/count-tokens';
import { addTenant } from '../../support/servers/database';
import { type ModelServerRequest, textReply } from '../../support/servers/model-server';
import { startCli } from '../../support/worlds/cli';
import { workerWorld } from '../../support/worlds/worker-world';

/** 200 of them are in test/e2e/sessions. */
const TURNS = 48;
const WINDOW = 400;
/** A lease that lapses on a slow machine lets the next run into the session. */
const LONG_LEASE = { env: { AGENT_LEASE_SECONDS: '60' } };
const world = workerWorld();
let runtime: Runtime;
beforeEach(() => {
  runtime = createRuntime({
    database: { url: world.database().url },
    model: { apiKey: 'sk-test-key', baseUrl: world.models().url },
  });
});
afterEach(() => runtime.close());

const tenantWith = (settings: object): Promise<string> => addTenant(world.database(), { settings });
const said = (tenantId: string) =>
  world.database().query<{ turn: number; kind: string; content: string }>(
    `SELECT message.turn, message.kind, message.content FROM elo_agent_session_messages AS message
     WHERE message.tenant_id = $1 AND message.kind = 'message' ORDER BY message.no`,
    [tenantId],
  );
const isSummary = ({ messages }: ModelServerRequest): boolean => messages[0]?.role === 'system';

it('many turns of one session by library, worker and command line, with a restart between: none is lost, none is seen by another tenant', async () => {
  const settings = { session_window_tokens: WINDOW };
  const [tenant, other] = [await tenantWith(settings), await tenantWith(settings)];
  world.models().always((request) => {
    const last = request.messages.at(-1)?.content ?? '';
    return textReply(isSummary(request) ? `Summary: ${last.slice(-60)}` : `Answer to ${last}`).body;
  });
  const config = (message: string): object => ({ message, agent_tier: 'pro', session_id: 'chat-7' });
  const byLibrary = (tenantId: string, message: string): Promise<unknown> =>
    runtime.run({ config: config(message) as { message: string }, meta: { tenant_id: tenantId } });
  const byWorker = async (tenantId: string, message: string): Promise<unknown> => {
    const task = world.order({ config: config(message) }, { tenant_id: tenantId });
    await world.push(task);
    return world.reported(task);
  };
  const byCommand = async (tenantId: string, message: string): Promise<unknown> => {
    const env = {
      DATABASE_URL: world.database().url,
      OPENROUTER_API_KEY: 'k',
      OPENROUTER_BASE_URL: world.models().url,
    };
    const args = ['run', '--tenant', tenantId, '--session', 'chat-7', '--tier', 'pro', '--message', message];
    expect(await startCli(args, { env }).ended).toMatchObject({ exitCode: 0 });
    return undefined;
  };
  let worker = world.startWorker(LONG_LEASE);
  for (let turn = 1; turn <= TURNS; turn++) {
    const say = turn % 16 === 0 ? byCommand : turn % 3 === 0 ? byWorker : byLibrary;
    await say(tenant, `Question ${turn} of one`);
    if (turn % 12 === 0) await byWorker(other, `Question ${turn} of another`);
    if (turn !== TURNS / 2) continue;
    await worker.kill();
    await runtime.close();
    worker = world.startWorker(LONG_LEASE);
    runtime = createRuntime({
      database: { url: world.database().url },
      model: { apiKey: 'k', baseUrl: world.models().url },
    });
  }
  const numbers = Array.from({ length: TURNS }, (_, index) => index + 1);
  expect((await said(tenant)).map(({ turn, content }) => [turn, content])).toEqual(
    numbers.flatMap((turn) => [
      [turn, `Question ${turn} of one`],
      [turn, expect.stringMatching(new RegExp(`^Answer to .*Question ${turn} of one$`, 's'))],
    ]),
  );
  expect(await said(other)).toHaveLength(8);
  const asked = world.models().received;
  const texts = asked.map(({ messages }) => messages.map(({ content }) => content).join('\n'));
  expect(texts.filter((text) => text.includes('of another') && text.includes('of one'))).toEqual([]);
  const sizes = await Promise.all(
    texts.filter((_text, index) => !isSummary(asked[index] as ModelServerRequest)).map(countTokens),
  );
  expect(Math.max(...sizes)).toBeLessThanOrEqual(WINDOW + 20);
});

it('two tasks of one session on the queue at once: both turns are kept, and the second knows the first', async () => {
  const first = world.order({ config: { message: 'One', agent_tier: 'pro', session_id: 'chat-8' } });
  const second = world.order({ config: { message: 'Two', agent_tier: 'pro', session_id: 'chat-8' } });
  world.startWorker(LONG_LEASE);
  world.startWorker(LONG_LEASE);
  await world.push(first, second);
  const reports = await world.reported(first, second);
  expect(reports).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  const rows = await said(world.tenantId());
  expect(rows.map(({ turn }) => turn)).toEqual([1, 1, 2, 2]);
  const lengths = world.models().received.map(({ messages }) => messages.length);
  expect(lengths.slice(-2)).toEqual([1, 3]);
});
