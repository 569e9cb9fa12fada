import type * as z from 'zod/v4';

import type { AgentResult } from '../contracts/result';
import type { AgentDefinition } from '../contracts/tenant';
import type { Postgres } from '../storage/postgres/pool';
import type { JsonObject } from '../util/json';
import type { AdminHost } from './contract/host';
import type { Installation } from './diagnostics/look-at-all';
import type { ListAddress } from './prices/price-source';

/** What administration works with. */
export interface AdminPorts extends Installation {
  /** Where the provider lists its models, also when no key for it is configured. */
  readonly listedAt: ListAddress;
  readonly run: (task: JsonObject, host: AdminHost) => Promise<AgentResult>;
  /** Names of the tools of this process. */
  readonly codeTools: readonly string[];
  readonly codeAgents: readonly AgentDefinition[];
  /** A database without a limit of time: an index on a large table takes minutes. */
  readonly withPatience: <T>(work: (postgres: Postgres) => Promise<T>) => Promise<T>;
}

/** What an operation may use beside the database, where it is configured. */
export type Need = 'vault' | 'provider' | 'redis';

/** Names of an operation for people. */
interface OperationWords {
  /** Its name in lists: `Create or Update`. */
  readonly title: string;
  /** A sentence without a period that begins with a verb: `Create or update a tenant`. */
  readonly action: string;
  /** Its effect, in a sentence without a period. */
  readonly description: string;
}

/**
 * The one declaration of an operation of administration. `runtime.admin`, the command line, the operations of the Admin
 * node's panel and docs/administration.md are read from it.
 *
 * Metadata of its input: `secret` (a text that nobody may look on), `tenant` (one that a tenant is known by), `none` (the word for
 * null on the command line), `whole` (a list whose entries may have commas, a text whose last line end counts), `any` (any JSON, or a text); for the panel
 * `title`, `description`, `placeholder`, `initial` (default in the panel), `names` of words, `rows`, `picker` (`tier`, `tool`,
 * `tenantTool`, `skill`, `agent`, `server`), `group` (`more`, `filters`; `none`: not in the panel), `panel` (an export of the panel's custom.ts).
 *
 * @example
 * export const getTenant = operation({ name: 'tenant.get', title: 'Get', action: 'Get a tenant', description: '…', input, run })
 */
export interface AdminOperation<Name extends string, Input extends z.ZodType, Result> extends OperationWords {
  /** `resource.operation`, as `runtime.admin` has them. */
  readonly name: Name;
  /** Default: nothing. */
  readonly needs?: readonly Need[];
  /** True if it calls a model, so that a provider must be configured. Default false. */
  readonly asksModel?: boolean;
  /** The key of the result under which its rows come; default: the result is one. */
  readonly lists?: string;
  readonly input: Input;
  /** Rejects with a RuntimeError; then nothing has changed. */
  readonly run: (ports: AdminPorts, given: z.output<Input>, host: AdminHost) => Promise<Result>;
  /** Returns false for a result that reports a problem; its command then exits with 1. Default: always true. */
  readonly isGood?: (result: Awaited<Result>) => boolean;
}

/** Declares an operation; it comes into being with its line in operations.ts. */
export function operation<const Name extends string, Input extends z.ZodType, Result>(
  row: AdminOperation<Name, Input, Result>,
): AdminOperation<Name, Input, Result> {
  return row;
}
