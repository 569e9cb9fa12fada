import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { createPostgres } from '../../../runtime/storage/postgres/pool';
import { createRedisConnection } from '../../../runtime/storage/redis/connection';
import { freePort } from '../../../scripts/lib/ports.mjs';
import { startPostgres } from '../../../scripts/lib/postgres.mjs';
import { startRedis, type TestRedis } from '../../support/servers/redis';
import { errorLine, startCli } from '../../support/worlds/cli';

// Made by and for these tests, until 2126, for localhost and 127.0.0.1.
const TLS = path.join(__dirname, '../../fixtures/tls');
const [CERTIFICATE, KEY] = [path.join(TLS, 'server.pem'), path.join(TLS, 'server.key')];

describe('a Postgres with a certificate of its own', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  const at = (parameters: string): string => `${server.url}?${parameters}`;

  beforeAll(async () => {
    server = await startPostgres();
    const { query, close } = createPostgres({ url: server.adminUrl, maxConnections: 1 });
    // The server writes them itself, since the key must be its own.
    for (const [name, from] of [
      ['server.crt', CERTIFICATE],
      ['server.key', KEY],
    ] as const) {
      const text = (await readFile(from, 'utf8')).trim();
      await query({
        text: `COPY (SELECT unnest(string_to_array('${text}', E'\\n'))) TO PROGRAM 'umask 077 && cat > ${name}'`,
        values: [],
      });
    }
    await query({ text: 'ALTER SYSTEM SET ssl = on', values: [] });
    await close();
    await server.restart();
  });
  afterAll(() => server.stop());

  it.each([
    ['is not asked for it', 'sslmode=require'],
    ['need not show it', 'sslmode=no-verify'],
    ['shows the one that is named', `sslmode=verify-full&sslrootcert=${CERTIFICATE}`],
    ['shows the one that is named, also with require', `sslmode=require&sslrootcert=${CERTIFICATE}`],
  ])('is connected to where it %s, and nothing is said', async (_what, parameters) => {
    const { query, close } = createPostgres({ url: at(parameters), maxConnections: 1 });
    const ssl = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
    expect(await query({ text: ssl, values: [] })).toEqual([{ ssl: true }]);
    await close();
    const outcome = await startCli(['diagnostics', 'schema'], { env: { DATABASE_URL: at(parameters) } }).ended;
    expect(outcome).toMatchObject({ exitCode: 1, stderr: '' });
  });

  it('is refused where it has to be trusted, in one line that says how', async () => {
    const outcome = await startCli(['diagnostics', 'schema'], { env: { DATABASE_URL: at('sslmode=verify-full') } })
      .ended;
    expect(outcome.exitCode).toBe(1);
    expect(errorLine(outcome)).toMatchObject({
      code: 'DB_CERTIFICATE_UNTRUSTED',
      message: expect.stringContaining('self-signed certificate') as string,
      hint: expect.stringContaining('sslrootcert=FILE') as string,
    });
  });
});

describe('a Redis with a certificate of its own', () => {
  let redis: TestRedis;
  let url: URL;

  beforeAll(async () => {
    const port = await freePort();
    redis = await startRedis({
      settings: [
        '--tls-port',
        String(port),
        '--tls-cert-file',
        CERTIFICATE,
        '--tls-key-file',
        KEY,
        '--tls-auth-clients',
        'no',
      ],
    });
    url = new URL(redis.url.replace(/^redis:/, 'rediss:'));
    url.port = String(port);
  });
  afterAll(() => redis.close());

  async function ping(parameters: string, rejectUnauthorized = true): Promise<string> {
    const connection = createRedisConnection({ url: `${url.href}?${parameters}`, rejectUnauthorized });
    try {
      return await connection.use((client) => client.ping());
    } catch (error) {
      return (error as Error).message;
    } finally {
      await connection.close();
    }
  }

  it('is trusted by its certificate, or unseen', async () => {
    expect(await ping(`ssl_ca_certs=${CERTIFICATE}`)).toBe('PONG');
    expect(await ping('ssl_cert_reqs=none')).toBe('PONG');
    expect(await ping('', false)).toBe('PONG');
    expect(await ping('ssl_cert_reqs=required', false)).toMatch(/self-signed certificate/);
    expect(await ping('')).toMatch(/self-signed certificate/);
  });
});
