import { Client } from 'pg';

import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { withCode } from '../../support/setup/matchers';
import { type AgentFixture, aTask, startAgentFixture } from '../../support/values/agent-fixture';
import { untilTrue } from '../../support/values/until';

let agent: AgentFixture;

beforeAll(async () => {
  agent = await startAgentFixture();
});
afterAll(() => agent.close());

/** For the connections that come. */
const setting = (name: string, value: string): Promise<unknown> =>
  agent.database.query(`DO $$ BEGIN
    EXECUTE format('ALTER ROLE %I IN DATABASE %I SET ${name} = %L', current_user, current_database(), '${value}');
  END $$`);

const timedOut = (words: string): Error =>
  withCode('DB_UNAVAILABLE', { retryable: true, message: expect.stringContaining(words) as string });

it('a run that meets the limit of a transaction may be tried again, and says so', async () => {
  await setting('transaction_timeout', '200ms');
  const holder = new Client({ connectionString: agent.database.url });
  await holder.connect();
  await holder.query('SET transaction_timeout = 0');
  await holder.query('BEGIN; LOCK TABLE elo_agent_runs IN ACCESS EXCLUSIVE MODE');
  await expect(agent.runtime.run(aTask(agent.tenantId))).rejects.toThrow(timedOut('transaction timeout'));
  await holder.query('COMMIT');
  await holder.end();
  await setting('transaction_timeout', '0');
});

it('a transaction that the server ends while it is idle fails with the words of the server', async () => {
  await setting('idle_in_transaction_session_timeout', '10ms');
  const { transaction, close } = createPostgres({ url: agent.database.url, maxConnections: 1 });
  const isGone = async (pid: number): Promise<boolean> =>
    (await agent.database.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])).length === 0;
  const work = transaction(async (query) => {
    const [row] = await query<{ pid: number }>({ text: 'SELECT pg_backend_pid() AS pid', values: [] });
    await untilTrue(() => isGone(row?.pid ?? 0));
    await query({ text: 'SELECT 1', values: [] });
  });
  await expect(work).rejects.toThrow(timedOut('idle-in-transaction timeout'));
  await close();
});
