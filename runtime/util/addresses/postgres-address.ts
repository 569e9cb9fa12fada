import { parse } from 'pg-connection-string';

import { oneOf, type Reader, readParameters, whole } from './read-parameters';

interface Login {
  /** A name, or the folder of a socket. */
  readonly host: string;
  readonly port?: number;
  readonly database?: string;
  readonly user?: string;
  readonly password?: string;
}

interface Encryption {
  readonly ssl?: boolean | object;
  readonly sslnegotiation?: 'postgres' | 'direct';
  readonly enableChannelBinding?: boolean;
}

/** What an address of Postgres says, as the driver takes it. */
export interface PostgresAddress extends Login, Encryption {
  /** Settings of the server for the connection. */
  readonly options?: string;
  readonly application_name?: string;
  readonly connectionTimeoutMillis?: number;
  readonly maxConnections?: number;
}

/** Certificates in files, and what is read of other places by the driver's parser. */
const AS_THEY_ARE = ['host', 'port', 'user', 'password', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'];

/**
 * Other parameters that are honoured: those of libpq (https://www.postgresql.org/docs/current/libpq-connect.html), the
 * driver's, and Prisma's, which providers put into the addresses that they show.
 */
const PARAMETERS: Readonly<Record<string, Reader<PostgresAddress>>> = {
  ...Object.fromEntries(AS_THEY_ARE.map((name) => [name, () => ({})])),
  sslmode: (value) => oneOf(value, ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']),
  ssl: (value) => oneOf(value, ['true', 'false', '1', '0', 'no-verify']),
  uselibpqcompat: (value) => oneOf(value, ['true']),
  channel_binding: (value) => ({
    ...oneOf(value, ['disable', 'prefer', 'require']),
    enableChannelBinding: value !== 'disable',
  }),
  gssencmode: (value) => oneOf(value, ['disable', 'prefer']),
  target_session_attrs: (value) => oneOf(value, ['any']),
  dbname: (database) => ({ database }),
  application_name: (name) => ({ application_name: name }),
  fallback_application_name: () => ({}),
  client_encoding: (value) => oneOf(value.toLowerCase().replace('-', ''), ['utf8', 'auto']),
  options: (options) => ({ options }),
  connect_timeout: (seconds) => ({ connectionTimeoutMillis: whole(seconds, 1) * 1000 }),
  connection_limit: (count) => ({ maxConnections: whole(count, 1) }),
  pgbouncer: (value) => oneOf(value, ['true', 'false']),
};

const SCHEMES = /^postgres(ql)?:\/\//i;

/**
 * Reads `postgres://user:password@host:port/database?sslmode=verify-full`. `sslmode` means what libpq means by it: `require`
 * encrypts, and verifies only with `sslrootcert`. Throws an Error that goes on after the address's name, such as
 * `has the parameter "pool_timeout", which is not known`; no value but that of a parameter is in it.
 */
export function readPostgresAddress(text: string): PostgresAddress {
  if (!SCHEMES.test(text)) throw new Error('is not a Postgres URL; encode special characters in the password');
  const given = new URLSearchParams(text.replace(/^[^?]*\??/, '').replace(/#.*/, ''));
  const schema = given.get('schema') ?? undefined;
  given.delete('schema');
  const read = readParameters(given, PARAMETERS);
  const { host, port, database, user, password, ssl, sslnegotiation } = parsed(text, given);
  if (host === '' || host === null || host.includes(',')) throw new Error('names no host, or more than one');
  const options = [read.options, schema && searchPath(schema)].filter(Boolean).join(' ');
  return {
    host,
    ...withoutEmpty({ database, user, password, sslnegotiation, port: port && whole(port, 1) }),
    ...sslOf(given, ssl),
    ...read,
    ...withoutEmpty({ options }),
  };
}

function withoutEmpty(fields: object): Partial<PostgresAddress> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => Boolean(value)));
}

function parsed(text: string, given: URLSearchParams): ReturnType<typeof parse> {
  const files = ['sslrootcert', 'sslcert', 'sslkey'].filter((name) => given.has(name));
  try {
    const plain = text
      .replace(/([?&])uselibpqcompat=true&?/, '$1')
      .replace('sslrootcert=system', 'sslmode=verify-full');
    return parse(plain, { useLibpqCompat: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR')
      throw new Error(`names a file in ${files.join(', ')} that cannot be read`, { cause: error });
    if (message.includes('verify-ca')) throw new Error('needs sslrootcert for sslmode=verify-ca', { cause: error });
    throw new Error('is not a Postgres URL; encode special characters in the password', { cause: error });
  }
}

function sslOf(given: URLSearchParams, ssl: ReturnType<typeof parse>['ssl']): Pick<PostgresAddress, 'ssl'> {
  const mode = given.get('sslmode') ?? given.get('ssl');
  // Unencrypted where the server takes it, which it says otherwise.
  if (mode === 'allow' || mode === 'false') return { ssl: false };
  if (mode === 'no-verify') return { ssl: { ...(typeof ssl === 'object' ? ssl : {}), rejectUnauthorized: false } };
  return ssl === undefined || typeof ssl === 'string' ? {} : { ssl };
}

/** Where tables are looked for, as an option of the server. */
function searchPath(schema: string): string {
  const name = `"${schema.replaceAll('"', '""')}"`;
  return `-c search_path=${name.replaceAll(/[\\ ]/g, '\\$&')}`;
}
