import { cutAddress, fileAt, oneOf, portOf, type Reader, readParameters, whole } from './read-parameters';

/** An address of Redis, as ioredis takes it. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly username?: string;
  readonly password?: string;
  readonly db: number;
  /** Version of the network: 4, 6, or 0 for either. */
  readonly family?: number;
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
  readonly family?: number;
}

const DEFAULT_PORT = 6379;
const MOST_DATABASES = 1_000_000;

/** Those of other clients that providers and frameworks write, above all redis-py's. */
const PARAMETERS: Readonly<Record<string, Reader<Read>>> = {
  db: (value) => ({ db: whole(value, 0, MOST_DATABASES) }),
  family: (value) => ({ ...oneOf(value, ['0', '4', '6']), family: Number(value) }),
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

const KIND = { name: 'a redis: or rediss: URL', schemes: /^(?:redis|valkey)s?:\/\//i };

/**
 * Reads `redis://user:password@host:port/database`, or `rediss:` for TLS; `valkey:` and `valkeys:` mean the same. Throws an Error that goes on after the address's name,
 * such as `has a path that is no number of a database`; no secret is in it.
 */
export function readRedisAddress(text: string): RedisAddress {
  const { user, password, host, port, path, parameters } = cutAddress(text, KIND);
  if (host === '') throw new Error('names no host');
  const { db, family, ...tls } = readParameters(parameters, PARAMETERS);
  const isEncrypted = /^(?:redis|valkey)s:/i.test(text.trim());
  if (!isEncrypted && Object.keys(tls).length > 0)
    throw new Error('has certificates, and redis: is not encrypted: rediss:');
  return {
    host,
    port: portOf(port) ?? DEFAULT_PORT,
    ...(user === '' ? {} : { username: user }),
    ...(password === '' ? {} : { password }),
    db: databaseOf(path.replace(/\/$/, ''), db),
    ...(family === undefined ? {} : { family }),
    ...(isEncrypted ? { tls } : {}),
  };
}

function databaseOf(path: string, db: number | undefined): number {
  if (path !== '' && !/^\d{1,6}$/.test(path)) throw new Error('has a path that is no number of a database');
  if (path !== '' && db !== undefined && Number(path) !== db) throw new Error('names two databases');
  return db ?? Number(path);
}
