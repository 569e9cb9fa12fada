import { readFileSync } from 'node:fs';

import { oneOf, type Reader, readParameters, whole } from './read-parameters';

/** What an address of Redis says. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly username?: string;
  readonly password?: string;
  readonly db: number;
  /** Undefined: not encrypted. */
  readonly tls?: RedisTls;
}

interface RedisTls {
  readonly rejectUnauthorized?: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

interface Read extends RedisTls {
  readonly db?: number;
}

const DEFAULT_PORT = 6379;

/** Those of other clients that providers and frameworks write, above all redis-py's. */
const PARAMETERS: Readonly<Record<string, Reader<Read>>> = {
  db: (value) => ({ db: whole(value, 0) }),
  // Nothing of either that a command of ours could notice.
  protocol: (value) => oneOf(value, ['2', '3']),
  ssl_cert_reqs: (value) => {
    const words = value.toLowerCase().replace(/^cert_/, '');
    return { ...oneOf(words, ['none', 'optional', 'required']), rejectUnauthorized: words !== 'none' };
  },
  ssl_ca_certs: (path) => ({ ca: fileAt(path) }),
  ssl_certfile: (path) => ({ cert: fileAt(path) }),
  ssl_keyfile: (path) => ({ key: fileAt(path) }),
};

/**
 * Reads `redis://user:password@host:port/database`, or `rediss:` for TLS. Throws an Error that goes on after the address's name,
 * such as `has "/abc" for a path, which is no number of a database`; the password is not in it.
 */
export function readRedisAddress(text: string): RedisAddress {
  const url = URL.parse(text);
  if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === '')
    throw new Error('is not a redis: or rediss: URL with a host; encode special characters in the password');
  const { db, ...tls } = readParameters(url.searchParams, PARAMETERS);
  const isEncrypted = url.protocol === 'rediss:';
  if (!isEncrypted && Object.keys(tls).length > 0)
    throw new Error('has certificates, and redis: is not encrypted: rediss:');
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port) || DEFAULT_PORT,
    ...loginOf(url),
    db: databaseOf(url.pathname, db),
    ...(isEncrypted ? { tls } : {}),
  };
}

function loginOf({ username, password }: URL): Pick<RedisAddress, 'username' | 'password'> {
  try {
    return {
      username: decodeURIComponent(username) || undefined,
      password: decodeURIComponent(password) || undefined,
    };
  } catch (error) {
    throw new Error('is not a redis: or rediss: URL; encode special characters in the password', { cause: error });
  }
}

function databaseOf(pathname: string, db: number | undefined): number {
  const path = pathname.replace(/^\//, '');
  if (path !== '' && !/^\d{1,6}$/.test(path))
    throw new Error(`has "/${path.slice(0, 20)}" for a path, which is no number of a database`);
  if (path !== '' && db !== undefined && Number(path) !== db) throw new Error('names two databases');
  return db ?? Number(path);
}

function fileAt(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error('names a file that cannot be read', { cause: error });
  }
}
