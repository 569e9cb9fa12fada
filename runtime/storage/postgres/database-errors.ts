import { isRuntimeError, RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { readPostgresAddress } from '../../util/addresses/postgres-address';
import { isUntrusted } from '../../util/connection-errors';
import { createRedactor, type Redact } from '../../util/redaction/redact';

interface Target {
  readonly user: string;
  readonly redact: Redact;
}

/** What errors of this database may say. */
export function describeTarget(config: {
  readonly url?: string;
  readonly user?: string;
  readonly password?: string;
}): Target {
  const { user = '', password } = config.url === undefined ? config : readPostgresAddress(config.url);
  return { user, redact: createRedactor([password]) };
}

type DatabaseCode =
  | 'DB_UNREACHABLE'
  | 'DB_CERTIFICATE_UNTRUSTED'
  | 'DB_UNAVAILABLE'
  | 'DB_AUTH_FAILED'
  | 'DB_SCHEMA_MISSING'
  | 'DB_ROW_REFUSED'
  | 'DB_PERMISSION_DENIED';

/** SQLSTATE codes, https://www.postgresql.org/docs/current/errcodes-appendix.html */
const CODES: Readonly<Record<string, DatabaseCode>> = {
  '28P01': 'DB_AUTH_FAILED',
  '28000': 'DB_AUTH_FAILED',
  '3D000': 'DB_AUTH_FAILED',
  '42P01': 'DB_SCHEMA_MISSING',
  '42703': 'DB_SCHEMA_MISSING',
  // A function of a later migration than the last one applied.
  '42883': 'DB_SCHEMA_MISSING',
  '3F000': 'DB_SCHEMA_MISSING',
  '42501': 'DB_PERMISSION_DENIED',
  '53300': 'DB_UNREACHABLE',
  '57P01': 'DB_UNREACHABLE',
  '57P02': 'DB_UNREACHABLE',
  '57P03': 'DB_UNREACHABLE',
  // A standby, or a primary that was made read-only.
  '25006': 'DB_UNAVAILABLE',
  // A transaction that was idle, or took longer than the server lets it.
  '25P03': 'DB_UNAVAILABLE',
  '25P04': 'DB_UNAVAILABLE',
};

/** Their first two characters: what is wrong with the server or its load, and not with the statement. */
const CLASSES: Readonly<Record<string, DatabaseCode>> = {
  // Connections; poolers refuse with 08P01.
  '08': 'DB_UNREACHABLE',
  // Constraints: not null, check, unique, foreign keys.
  '23': 'DB_ROW_REFUSED',
  // Deadlocks and serialization.
  '40': 'DB_UNAVAILABLE',
  // Disk, memory, connections.
  '53': 'DB_UNAVAILABLE',
  // Locks that are not to be had.
  '55': 'DB_UNAVAILABLE',
  // Time-outs, cancellation, shutdown.
  '57': 'DB_UNAVAILABLE',
  // Input and output of the server.
  '58': 'DB_UNAVAILABLE',
  // The server's own trouble, as while it starts.
  XX: 'DB_UNAVAILABLE',
};

/** The SQLSTATE of what the driver threw; undefined where the server did not answer. */
export function sqlStateOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Limits of time of a lock, a statement, a transaction. */
const TIME_OUTS: readonly string[] = ['55P03', '57014', '25P04'];

/** A statement that timed out, usually waiting for a lock: what the server says, or the driver where the server said nothing. */
export function isInVain(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  if (sqlState !== undefined) return TIME_OUTS.includes(sqlState);
  return error instanceof Error && error.message === 'Query read timeout';
}

/** What the driver threw, as a DB_ code; a RuntimeError stays as it is. */
export function toDatabaseError(error: unknown, { user, redact }: Target): RuntimeError {
  if (isRuntimeError(error)) return error;
  const reason = redact(errorText(error));
  const code = isUntrusted(error) ? 'DB_CERTIFICATE_UNTRUSTED' : codeOf(sqlStateOf(error));
  return new RuntimeError(code, { user, reason }, { cause: error });
}

/** What the work gives; what it throws as a DB_ code. */
export async function guarded<T>(work: Promise<T>, target: Target): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toDatabaseError(error, target);
  }
}

function codeOf(sqlState: string | undefined): DatabaseCode | 'DB_QUERY_FAILED' {
  // Errors without an SQLSTATE come from the connection, not from the server.
  if (sqlState === undefined) return 'DB_UNREACHABLE';
  return CODES[sqlState] ?? CLASSES[sqlState.slice(0, 2)] ?? 'DB_QUERY_FAILED';
}
