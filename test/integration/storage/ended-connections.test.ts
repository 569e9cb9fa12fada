import { type AddressInfo, createServer, type Server } from 'node:net';

import { createPostgres, type Postgres } from '../../../runtime/storage/postgres/pool';
import { createSqlReader } from '../../../runtime/storage/postgres/sql-reader';
import { askFor, DONE, fatalError, LET_IN } from '../../support/servers/postgres-wire';
import { withCode } from '../../support/setup/matchers';

const GONE = fatalError('57P01', 'terminating connection due to administrator command');
const UNREACHABLE = withCode('DB_UNREACHABLE');

const servers: Server[] = [];
const pools: Postgres[] = [];

/**
 * A Postgres that lets everybody in, answers every query, and ends the connection in the same bytes as `last`; any other `last`
 * is what it begins with.
 */
async function serverThatEnds(last: Buffer): Promise<string> {
  const first = last === DONE ? LET_IN : last;
  const answer = (ready: Buffer): Buffer => (ready === last ? Buffer.concat([ready, GONE]) : ready);
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', () => {
        socket.write(answer(first));
        socket.on('data', () => socket.write(answer(DONE)));
      });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `postgres://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}/db`;
}

async function openOn(last: Buffer): Promise<Postgres> {
  const pool = createPostgres({ url: await serverThatEnds(last), maxConnections: 1 });
  pools.push(pool);
  return pool;
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
  for (const server of servers.splice(0)) server.close();
});

describe('a connection that the server ends', () => {
  it('in the bytes that say it is ready: the statement fails, and the process goes on', async () => {
    const { query } = await openOn(LET_IN);
    for (let time = 0; time < 3; time++)
      await expect(query({ text: 'SELECT', values: [] })).rejects.toThrow(UNREACHABLE);
  });

  it.each([7, 9, 2, 99])(
    'since it wants a way to log in that the driver does not know (%s): the statement fails',
    async (way) => {
      const { query } = await openOn(askFor(way));
      await expect(query({ text: 'SELECT', values: [] })).rejects.toThrow(UNREACHABLE);
    },
  );

  it('in the bytes of an answer: the answer counts, and the next statement has another connection', async () => {
    const { query } = await openOn(DONE);
    for (let time = 0; time < 3; time++) await expect(query({ text: 'SELECT', values: [] })).resolves.toEqual([]);
  });

  it('within a transaction: it fails', async () => {
    const { transaction } = await openOn(DONE);
    await expect(transaction((run) => run({ text: 'SELECT', values: [] }))).rejects.toThrow(UNREACHABLE);
  });

  it('before the query of a model: the query fails', async () => {
    const reader = createSqlReader({ url: await serverThatEnds(LET_IN), maxConnections: 1 });
    const request = { tenantId: 'a', text: 'SELECT 1', maxRows: 1, maxBytes: 1000, timeoutMs: 5000 };
    const reading = reader.read({ ...request, signal: new AbortController().signal });
    await expect(reading).rejects.toThrow(UNREACHABLE);
    await reader.close();
  });
});
