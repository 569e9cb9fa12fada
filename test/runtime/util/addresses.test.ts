import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { readPostgresAddress } from '../../../runtime/util/addresses/postgres-address';
import { readRedisAddress } from '../../../runtime/util/addresses/redis-address';

const file = path.join(mkdtempSync(path.join(tmpdir(), 'addresses-')), 'ca.pem');
writeFileSync(file, 'a certificate');

const why = (read: () => unknown): string => {
  try {
    read();
  } catch (error) {
    return (error as Error).message;
  }
  return 'read';
};

describe('an address of Postgres', () => {
  const plain = { host: 'h', user: 'u', password: 'p', database: 'db' };

  it.each([
    ['postgres://u:p@h/db', plain],
    ['postgresql://u:p@h:5433/db', { ...plain, port: 5433 }],
    ['postgres://u:p%40%2F@h/my%20db', { ...plain, password: 'p@/', database: 'my db' }],
    ['postgres://u:100%@h/db', { ...plain, password: '100%' }],
    ['postgres://u:p@[::1]/db', { ...plain, host: '::1' }],
    ['postgresql://u:p@/db?host=/var/run/postgresql', { ...plain, host: '/var/run/postgresql' }],
    ['postgresql:///db?host=/run&user=u&password=p', { ...plain, host: '/run' }],
    ['postgresql://u:p@%2Fvar%2Frun/db', { ...plain, host: '/var/run' }],
    ['postgres://u:p@h/db?sslmode=disable', { ...plain, ssl: false }],
    ['postgres://u:p@h/db?sslmode=allow', { ...plain, ssl: false }],
    ['postgres://u:p@h/db?sslmode=prefer', { ...plain, ssl: { rejectUnauthorized: false } }],
    ['postgres://u:p@h/db?sslmode=require', { ...plain, ssl: { rejectUnauthorized: false } }],
    ['postgres://u:p@h/db?sslmode=require&uselibpqcompat=true', { ...plain, ssl: { rejectUnauthorized: false } }],
    ['postgres://u:p@h/db?uselibpqcompat=true&sslmode=require', { ...plain, ssl: { rejectUnauthorized: false } }],
    ['postgres://u:p@h/db?sslmode=no-verify', { ...plain, ssl: { rejectUnauthorized: false } }],
    ['postgres://u:p@h/db?sslmode=verify-full', { ...plain, ssl: {} }],
    [`postgres://u:p@h/db?sslmode=verify-full&sslrootcert=${file}`, { ...plain, ssl: { ca: 'a certificate' } }],
    ['postgres://u:p@h/db?sslrootcert=system', { ...plain, ssl: {} }],
    [
      `postgres://u:p@h/db?sslcert=${file}&sslkey=${file}`,
      { ...plain, ssl: { cert: 'a certificate', key: 'a certificate' } },
    ],
    ['postgres://u:p@h/db?ssl=true', { ...plain, ssl: {} }],
    ['postgres:///db', { database: 'db' }],
    [' postgres://u:p@h/db\n', plain],
    ['postgres://u:p@h/db?ssl=1&sslmode=require', { ...plain, ssl: { rejectUnauthorized: false } }],
    [
      'postgres://u:p@h/db?sslmode=require&sslnegotiation=direct',
      { ...plain, ssl: { rejectUnauthorized: false }, sslnegotiation: 'direct' },
    ],
    ['postgres://u:p@h/a%40b?dbname=&application_name=', { ...plain, database: 'a@b' }],
    ['postgres://u:p%2Fss@h/db?application_name=my app', { ...plain, password: 'p/ss', application_name: 'my app' }],
    ['postgres://u:p@[fe80::1%25eth0]:1/db', { ...plain, host: 'fe80::1%eth0', port: 1 }],
    ['postgres://u:p@localhost/db?host=/cloudsql/p:r:i', { ...plain, host: '/cloudsql/p:r:i' }],
    [
      'postgres://u:p@h/db?statement_timeout=5000&connect_timeout=0',
      { ...plain, statement_timeout: 5000, connectionTimeoutMillis: 0 },
    ],
    ['postgres://u@t:p@h/db?supa=base-pooler.x', { ...plain, user: 'u@t' }],
    ['postgres://u:p@h/db?ssl=false', { ...plain, ssl: false }],
    ['postgres://u:p@h/db?channel_binding=require', { ...plain, enableChannelBinding: true }],
    ['postgres://u:p@h/db?connect_timeout=15', { ...plain, connectionTimeoutMillis: 15_000 }],
    ['postgres://u:p@h/db?pgbouncer=true&connection_limit=1', { ...plain, maxConnections: 1 }],
    ['postgres://u:p@h/db?application_name=mine', { ...plain, application_name: 'mine' }],
    ['postgres://u:p@h/db?options=-c%20geqo%3Doff', { ...plain, options: '-c geqo=off' }],
    ['postgres://u:p@h/db?schema=My%20Agent', { ...plain, options: String.raw`-c search_path="My\ Agent"` }],
    ['postgres://u:p@h/db?schema=a&options=-c%20geqo%3Doff', { ...plain, options: '-c geqo=off -c search_path="a"' }],
    ['postgres://u:p@h?dbname=db', plain],
  ])('%s is read', (text, address) => {
    expect(readPostgresAddress(text)).toEqual(address);
  });

  it('with a certificate of its own verifies the certificate, and the host only where that is asked for', () => {
    const namesChecked = (mode: string): boolean => {
      const { ssl } = readPostgresAddress(`postgres://u:p@h/db?sslmode=${mode}&sslrootcert=${file}`);
      expect(ssl).toMatchObject({ ca: 'a certificate' });
      expect(ssl).not.toHaveProperty('rejectUnauthorized');
      return !Object.hasOwn(ssl as object, 'checkServerIdentity');
    };
    expect(['require', 'verify-ca', 'verify-full'].map(namesChecked)).toEqual([false, false, true]);
  });

  it.each([
    ['postgres://u:p@h/db?pool_timeout=5', 'has the parameter "pool_timeout", which is not known'],
    ['postgres://u:p@h/db?sslmode=on', /^has the parameter "sslmode", which takes disable, .*no-verify$/],
    ['postgres://u:p@h/db?target_session_attrs=read-write', /"target_session_attrs", which takes any/],
    ['postgres://u:p@h/db?connect_timeout=soon', /"connect_timeout", which takes a whole number from 0/],
    [
      'postgres://u:p@h/db?sslrootcert=/no/such/file',
      'has the parameter "sslrootcert", which names a file that cannot be read',
    ],
    ['postgres://u:p@h/db?sslmode=verify-ca', 'needs sslrootcert for sslmode=verify-ca'],
    ['postgres://u:p@h1,h2/db', 'names more than one host'],
    ['postgres://u:p@h1:1,h2:2/db', /port/],
    ['postgres://u:p@h/db?host=a,b', 'has the parameter "host", which takes one host'],
    ['postgres://u:p#@h/db', /encode special characters/],
    ['postgres://u:p?SECRET@h/db', /^is not a .* URL; encode special characters/],
    ['postgres://u:p@h?SECRET@x=1', 'has a parameter, which is not known'],
    ['postgres://u:p@h/db#x?sslmode=verify-full', /encode special characters/],
    ['postgres://u:p@h:99999/db', 'names no port from 1 to 65535'],
    ['postgres://u:p@h/db?port=5432,5433', 'has the parameter "port", which names no port from 1 to 65535'],
    ['postgres://u:p@a%00b/db', 'has a NUL character'],
    ['postgres://u:p@h/db?sslmode=allow&sslmode=verify-full', 'has the parameter "sslmode" twice'],
    ['postgres://u:p@h/db?dbname=other', 'names two databases'],
    ['postgres://u:p@h/db?ssl=false&sslmode=require', /contradict/],
    ['postgres://u:p@h/db?ssl=true&sslmode=disable', /contradict/],
    ['postgres://u:p@h/db?sslmode=verify-full&ssl=no-verify', /contradict/],
    ['postgres://u:p@h/db?sslnegotiation=direct', /needs an encrypted connection/],
    ['postgres://admin@srv:12?Secret&x@h/db', 'has a parameter, which is not known'],
    ['postgres://u:p@h/db?user=%00', /NUL/],
    ['postgres://u:p@h/db?sslmode=require&sslrootcert=system', /needs sslmode=verify-full/],
    [`postgres://u:p@h/db?ssl=false&sslrootcert=${file}`, /names certificates, and is not encrypted/],
    ['postgres://u:p@h/db?sslmode=disable&channel_binding=require', /needs an encrypted connection/],
    ['postgres://u:p@h/db?sslnegotiation=bogus', /takes postgres, direct/],
    ['host=h dbname=db', /^is not a (Postgres|redis: or rediss:) URL; encode/],
    ['jdbc:postgresql://h/db', 'begins with jdbc: and is not a Postgres URL'],
    ['postgresql+asyncpg://u:p@h/db', 'begins with postgresql+asyncpg: and is not a Postgres URL'],
    ['mysql://u:p@h/db', 'begins with mysql: and is not a Postgres URL'],
    ['', /^is not a (Postgres|redis: or rediss:) URL; encode/],
  ])('%s is refused in words', (text, words) => {
    const said = why(() => readPostgresAddress(text));
    expect(said).toEqual(typeof words === 'string' ? words : expect.stringMatching(words));
    expect(said).not.toContain('u:p');
  });
});

describe('an address of Redis', () => {
  const plain = { host: 'h', port: 6379, db: 0 };

  it.each([
    ['redis://h', plain],
    ['redis://h/', plain],
    ['redis://:p%40@h:1/2', { ...plain, port: 1, db: 2, password: 'p@' }],
    ['redis://u:p@[::1]', { ...plain, host: '::1', username: 'u', password: 'p' }],
    ['redis://h?db=3', { ...plain, db: 3 }],
    ['redis://h/1/?family=0', { ...plain, db: 1, family: 0 }],
    ['redis://:p%@h', { ...plain, password: 'p%' }],
    ['redis://h/3?db=3&protocol=3', { ...plain, db: 3 }],
    ['rediss://h', { ...plain, tls: {} }],
    [' rediss://h\n', { ...plain, tls: {} }],
    ['valkeys://h/2', { ...plain, db: 2, tls: {} }],
    ['valkey://h', plain],
    ['rediss://h?ssl_cert_reqs=CERT_NONE', { ...plain, tls: { rejectUnauthorized: false } }],
    ['rediss://h?ssl_cert_reqs=required', { ...plain, tls: { rejectUnauthorized: true } }],
    [`rediss://h?ssl_ca_certs=${file}`, { ...plain, tls: { ca: 'a certificate' } }],
  ])('%s is read', (text, address) => {
    expect(readRedisAddress(text)).toMatchObject(address);
  });

  it.each([
    ['redis://h/abc', 'has a path that is no number of a database'],
    ['redis://h/1/2', 'has a path that is no number of a database'],
    ['redis://u:1?SECRET@h', /^is not a .* URL; encode special characters/],
    ['redis://u:1/SECRET@h:1/1', /^is not a .* URL; encode special characters/],
    ['redis://h/0#x', /^is not a .* URL; encode/],
    ['redis://h:0/1', 'names no port from 1 to 65535'],
    ['redis://h1,h2/1', 'names more than one host'],
    ['redis://h?db=1&db=2', 'has the parameter "db" twice'],
    ['redis:///1', 'names no host'],
    ['redis://h/1?db=2', 'names two databases'],
    ['redis://h?db=x', 'has the parameter "db", which takes a whole number from 0'],
    ['redis://h?name=6', 'has the parameter "name", which is not known'],
    ['redis://h?ssl_cert_reqs=none', /not encrypted/],
    [
      'rediss://h?ssl_ca_certs=/no/such/file',
      'has the parameter "ssl_ca_certs", which names a file that cannot be read',
    ],
    ['rediss://h?ssl_cert_reqs=maybe', /which takes none, optional, required/],
    ['unix:///run/redis.sock', 'begins with unix: and is not a redis: or rediss: URL'],
    ['redis+sentinel://:p@h:26379/0', 'begins with redis+sentinel: and is not a redis: or rediss: URL'],
    ['http://h', 'begins with http: and is not a redis: or rediss: URL'],
    ['h:6379', /^is not a (Postgres|redis: or rediss:) URL; encode/],
  ])('%s is refused in words', (text, words) => {
    expect(why(() => readRedisAddress(text))).toEqual(typeof words === 'string' ? words : expect.stringMatching(words));
  });
});
