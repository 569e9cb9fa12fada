import { cutAddress, fileAt, oneOf, portOf, type Reader, readParameters, whole } from './read-parameters';

export interface PostgresLogin {
  /** A name, or the folder of a socket; undefined: this machine. */
  readonly host?: string;
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

/** Milliseconds. */
interface TimeLimits {
  readonly connectionTimeoutMillis?: number;
  readonly statement_timeout?: number;
  readonly lock_timeout?: number;
  readonly idle_in_transaction_session_timeout?: number;
}

/** An address of Postgres, as the driver takes it. */
export interface PostgresAddress extends PostgresLogin, Encryption, TimeLimits {
  /** Settings of the server for the connection. */
  readonly options?: string;
  readonly application_name?: string;
  readonly maxConnections?: number;
}

interface Read extends PostgresAddress {
  readonly schema?: string;
  readonly sslmode?: string;
  /** The mode that `ssl` stands for. */
  readonly implied?: string;
  readonly system?: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** The driver's own parameter, as modes. */
const SSL: Readonly<Record<string, string>> = {
  ...{ true: 'verify-full', '1': 'verify-full', false: 'disable', '0': 'disable' },
  'no-verify': 'no-verify',
};

/**
 * The parameters that are honoured: those of libpq (https://www.postgresql.org/docs/current/libpq-connect.html), the
 * driver's, and Prisma's, which providers put into the addresses that they show.
 */
const PARAMETERS: Readonly<Record<string, Reader<Read>>> = {
  host: (host) => ({ ...oneHost(host), host }),
  port: (port) => ({ port: portOf(port) }),
  user: (user) => ({ user }),
  password: (password) => ({ password }),
  dbname: (database) => ({ database }),
  sslmode: (sslmode) => ({
    ...oneOf(sslmode, ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']),
    sslmode,
  }),
  ssl: (value) => ({ ...oneOf(value, Object.keys(SSL)), implied: SSL[value] }),
  sslrootcert: (file) => (file === 'system' ? { system: true } : { ca: fileAt(file) }),
  sslcert: (file) => ({ cert: fileAt(file) }),
  sslkey: (file) => ({ key: fileAt(file) }),
  sslnegotiation: (value) => ({
    ...oneOf(value, ['postgres', 'direct']),
    sslnegotiation: value as 'postgres' | 'direct',
  }),
  channel_binding: (value) => ({
    ...oneOf(value, ['disable', 'prefer', 'require']),
    enableChannelBinding: value !== 'disable',
  }),
  options: (options) => ({ options }),
  schema: (schema) => ({ schema }),
  application_name: (name) => ({ application_name: name }),
  connect_timeout: (seconds) => ({ connectionTimeoutMillis: whole(seconds, 0, 86_400) * 1000 }),
  statement_timeout: (ms) => ({ statement_timeout: whole(ms, 0) }),
  lock_timeout: (ms) => ({ lock_timeout: whole(ms, 0) }),
  idle_in_transaction_session_timeout: (ms) => ({ idle_in_transaction_session_timeout: whole(ms, 0) }),
  connection_limit: (count) => ({ maxConnections: whole(count, 1) }),
  // Those that say what is so in any case, or to other programs alone.
  uselibpqcompat: (value) => oneOf(value, ['true']),
  gssencmode: (value) => oneOf(value, ['disable', 'prefer']),
  target_session_attrs: (value) => oneOf(value, ['any']),
  client_encoding: (value) => oneOf(value.toLowerCase().replace('-', ''), ['utf8', 'auto']),
  pgbouncer: (value) => oneOf(value, ['true', 'false']),
  fallback_application_name: () => ({}),
  supa: () => ({}),
};

const KIND = { name: 'a Postgres URL', schemes: /^postgres(?:ql)?:\/\//i };

/**
 * Reads `postgres://user:password@host:port/database?sslmode=verify-full`. `sslmode` means what libpq means by it: `require`
 * encrypts, and verifies only with `sslrootcert`. Throws an Error that goes on after the address's name, such as
 * `has the parameter "pool_timeout", which is not known`; no secret is in it.
 */
export function readPostgresAddress(text: string): PostgresAddress {
  const { user, password, host, port, path, parameters } = cutAddress(text, KIND);
  const { schema, sslmode, implied, system, ca, cert, key, ...read } = readParameters(parameters, PARAMETERS);
  if (path !== '' && read.database !== undefined && read.database !== path) throw new Error('names two databases');
  const ssl = sslOf({ sslmode, implied, system, ca, cert, key });
  refusePlain(ssl, parameters);
  const options = [read.options, schema && searchPath(schema)].filter(Boolean).join(' ');
  return {
    ...withoutEmpty({ user, password, host, port: portOf(port), database: path }),
    ...read,
    ...withoutEmpty({ options }),
    ...(ssl === undefined ? {} : { ssl }),
  };
}

/** Nothing is said of encryption where the driver's variables of the environment may say it. */
function refusePlain(ssl: PostgresAddress['ssl'], given: URLSearchParams): void {
  const isBound = given.get('channel_binding') === 'require' && ssl === false;
  const isDirect = given.get('sslnegotiation') === 'direct' && (ssl === false || ssl === undefined);
  if (!isBound && !isDirect) return;
  const name = isBound ? 'channel_binding' : 'sslnegotiation';
  throw new Error(`has the parameter "${name}", which needs an encrypted connection`);
}

type Certificates = Pick<Read, 'ca' | 'cert' | 'key'>;

/** The driver's setting for each mode. */
const MODES: Readonly<Record<string, (files: Certificates) => boolean | object>> = {
  disable: () => false,
  allow: () => false,
  prefer: (files) => ({ ...files, rejectUnauthorized: false }),
  require: (files) => (files.ca === undefined ? { ...files, rejectUnauthorized: false } : ofAnyName(files)),
  'verify-ca': ofAnyName,
  'verify-full': (files) => files,
  'no-verify': (files) => ({ ...files, rejectUnauthorized: false }),
};

function ofAnyName(files: Certificates): object {
  return { ...files, checkServerIdentity: () => undefined };
}

/** Undefined: nothing is said, and the driver's own variables of the environment hold. */
function sslOf({ sslmode, implied, system, ca, cert, key }: Read): PostgresAddress['ssl'] {
  const files: Certificates = withoutEmpty({ ca, cert, key });
  const isNamed = system === true || Object.keys(files).length > 0;
  const mode = sslmode ?? implied ?? (isNamed ? 'verify-full' : undefined);
  if (mode === undefined) return undefined;
  const ssl = MODES[mode]?.(files);
  const wrong = contradiction({ mode, implied, system, ca, isLost: ssl === false && isNamed });
  if (wrong !== undefined) throw new Error(wrong);
  return ssl;
}

interface Asked extends Pick<Read, 'implied' | 'system' | 'ca'> {
  readonly mode: string;
  /** Certificates are named, and nothing is encrypted. */
  readonly isLost: boolean;
}

const PLAIN = ['disable', 'allow'];

function contradiction({ mode, implied = mode, system, ca, isLost }: Asked): string | undefined {
  const isOther = PLAIN.includes(implied) !== PLAIN.includes(mode) || (implied === 'no-verify' && mode !== implied);
  if (isOther) return 'has "ssl" and "sslmode", which contradict each other';
  if (system === true && mode !== 'verify-full') return 'needs sslmode=verify-full for sslrootcert=system';
  if (mode === 'verify-ca' && ca === undefined) return 'needs sslrootcert for sslmode=verify-ca';
  return isLost ? `names certificates, and is not encrypted with sslmode=${mode}` : undefined;
}

function oneHost(host: string): object {
  if (!host.includes(',')) return {};
  throw new Error('takes one host');
}

function withoutEmpty(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''));
}

/** Where tables are looked for, as an option of the server. */
function searchPath(schema: string): string {
  const name = `"${schema.replaceAll('"', '""')}"`;
  return `-c search_path=${name.replaceAll(/[\\ ]/g, String.raw`\$&`)}`;
}
