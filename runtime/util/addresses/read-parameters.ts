import { readFileSync } from 'node:fs';

/** What a parameter's value adds to what is read; throws an Error for a value that is not known. */
export type Reader<Address> = (value: string) => Partial<Address>;

/** An address, cut into its parts and decoded; what is not there is empty. */
export interface CutAddress {
  readonly user: string;
  readonly password: string;
  readonly host: string;
  readonly port: string;
  readonly path: string;
  readonly parameters: URLSearchParams;
}

interface AddressKind {
  /** Such as `a Postgres URL`. */
  readonly name: string;
  readonly schemes: RegExp;
}

/** Schemes of addresses that are given by mistake. Of others nothing is said: it may be a password that is cut. */
const OTHER_SCHEMES: ReadonlySet<string> = new Set([
  ...['unix', 'file', 'tcp', 'http', 'https', 'jdbc', 'mysql', 'mariadb', 'mongodb', 'mongodb+srv', 'sqlite', 'amqp'],
  ...['prisma', 'prisma+postgres', 'postgresql+asyncpg', 'postgresql+psycopg', 'postgresql+psycopg2', 'cockroachdb'],
  ...['redis+sentinel', 'redis-sentinel', 'rediss+sentinel', 'redis+cluster', 'redis+unix', 'redis+socket'],
  ...['redis-socket', 'memcached'],
]);

const SPECIAL = 'encode special characters in user and password';

/**
 * Cuts `scheme://user:password@host:port/path?parameters`, as the driver does. Throws an Error that goes on after the
 * address's name; of the address it says nothing that may be part of a password.
 */
export function cutAddress(text: string, { name, schemes }: AddressKind): CutAddress {
  const scheme = schemes.exec(text.trim())?.[0];
  const misread = new Error(`is not ${name}; ${SPECIAL}`);
  const other = /^[a-z][a-z0-9+.-]*(?=:)/i.exec(text.trim())?.[0].toLowerCase();
  if (other !== undefined && OTHER_SCHEMES.has(other)) throw new Error(`begins with ${other}: and is not ${name}`);
  if (scheme === undefined) throw misread;
  const { authority, after } = cut(text.trim().slice(scheme.length), /^([^/?#]*)([^]*)$/, ['authority', 'after']);
  if (after.includes('#') || (!authority.includes('@') && after.includes('@'))) throw misread;
  const { path, query } = cut(after, /^\/?([^?]*)\??([^]*)$/, ['path', 'query']);
  const parts = decodeAll({ ...cutAuthority(authority), path });
  if (parts.host.includes(',')) throw new Error('names more than one host');
  return { ...parts, parameters: new URLSearchParams(query) };
}

function cutAuthority(authority: string): Pick<CutAddress, 'user' | 'password' | 'host' | 'port'> {
  const at = authority.lastIndexOf('@');
  const login = cut(authority.slice(0, Math.max(at, 0)), /^([^:]*):?([^]*)$/, ['user', 'password']);
  const place = cut(authority.slice(at + 1), /^(\[[^\]]*\]|[^:]*)(?::([^]*))?$/, ['host', 'port']);
  return { ...login, ...place, host: place.host.replace(/^\[(.*)\]$/, '$1') };
}

/** The groups of a pattern by name; empty where there is none. */
function cut<Name extends string>(text: string, pattern: RegExp, names: readonly Name[]): Record<Name, string> {
  const groups = pattern.exec(text)?.slice(1) ?? [];
  return Object.fromEntries(names.map((name, index) => [name, groups[index] ?? ''])) as Record<Name, string>;
}

function decodeAll<Parts extends Readonly<Record<string, string>>>(parts: Parts): Parts {
  const decoded = Object.entries(parts).map(([name, part]) => [name, decode(part)] as const);
  if (decoded.some(([, part]) => part.includes('\0'))) throw new Error('has a NUL character');
  return Object.fromEntries(decoded) as Parts;
}

/** A lone % is itself. */
function decode(part: string): string {
  return part.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
    try {
      return decodeURIComponent(encoded);
    } catch {
      return encoded;
    }
  });
}

/** Reads parameters; empty ones count as left out. Throws an Error for one that is not honoured, and for one that stands twice. */
export function readParameters<Address>(
  given: URLSearchParams,
  readers: Readonly<Record<string, Reader<Address>>>,
): Partial<Address> {
  // With an @ it may all be a password.
  const areNames = !given.toString().includes('%40');
  let read: Partial<Address> = {};
  for (const [name, value] of given) {
    const reader = Object.hasOwn(readers, name) ? readers[name] : undefined;
    const isShown = reader !== undefined || (areNames && /^[a-z][a-z_.-]{0,39}$/i.test(name));
    const shown = isShown ? `the parameter "${name}"` : 'a parameter';
    if (reader === undefined) throw new Error(`has ${shown}, which is not known`);
    if (given.getAll(name).length > 1) throw new Error(`has ${shown} twice`);
    read = { ...read, ...readValue(value, reader, shown) };
  }
  return read;
}

function readValue<Address>(value: string, reader: Reader<Address>, shown: string): Partial<Address> {
  try {
    if (value.includes('\0')) throw new Error('has a NUL character');
    return value === '' ? {} : reader(value);
  } catch (error) {
    throw new Error(`has ${shown}, which ${(error as Error).message}`, { cause: error });
  }
}

/** Nothing; throws where the value is none of these. */
export function oneOf(value: string, known: readonly string[]): object {
  if (known.includes(value)) return {};
  throw new Error(`takes ${known.join(', ')}`);
}

/** A whole number within these. */
export function whole(text: string, least: number, most = 2_147_483_647): number {
  if (/^\d{1,10}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
  throw new Error(`takes a whole number from ${least}${most < 100_000 ? ` to ${most}` : ''}`);
}

/** The port of an address; undefined where it names none. */
export function portOf(text: string): number | undefined {
  if (text === '') return undefined;
  try {
    return whole(text, 1, 65_535);
  } catch (error) {
    throw new Error('names no port from 1 to 65535', { cause: error });
  }
}

export function fileAt(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error('names a file that cannot be read', { cause: error });
  }
}
