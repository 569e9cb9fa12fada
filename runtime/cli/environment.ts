import { createRuntime, type Runtime } from '../compose';
import { DEFAULTS, parseDatabase } from '../config';
import { createPostgres, type Postgres } from '../storage/postgres';
import { UsageError } from './arguments';

/** The only place that reads environment variables. */
function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new UsageError(`The environment variable ${name} is not set.`);
  return value;
}

/** The database that DATABASE_URL names. Without a time limit: an index on a large table takes minutes. The caller closes it. */
export function openDatabase(): Postgres {
  return createPostgres({
    ...parseDatabase({ url: required('DATABASE_URL') }),
    maxConnections: DEFAULTS.maxConnections,
    queryTimeoutMs: 0,
  });
}

/** A runtime from DATABASE_URL, OPENROUTER_API_KEY and OPENROUTER_BASE_URL. The caller closes it. */
export function openRuntime(): Runtime {
  const baseUrl = process.env.OPENROUTER_BASE_URL;
  return createRuntime({
    database: { url: required('DATABASE_URL') },
    model: { apiKey: required('OPENROUTER_API_KEY'), ...(baseUrl === undefined ? {} : { baseUrl }) },
  });
}
