import { LRUCache } from 'lru-cache';

import type { McpListedTool, McpServer, McpStore } from '../contracts/tools/mcp';
import { startDeadline, untilAborted } from '../util/abort';
import { monotonicMs } from '../util/clock';
import type { JsonValue } from '../util/json';
import { createRedactor, redactJson } from '../util/redaction/redact';
import { type McpClientPool, targetKey } from './client-pool';
import type { ListedTool, McpTarget } from './connection';
import { onConnection } from './on-connection';
import { MAX_TTL_MS } from './read-server';
import { type CheckSchema, offeredTools, type ReadTools, readTools } from './read-tools';
import { toServerWarning } from './server-errors';

/** What the database has of a registered server's list. */
interface StoredTools {
  readonly isFresh: boolean;
  readonly tools: readonly McpListedTool[];
}

interface ToolDirectory {
  /**
   * The tools that a server offers, and what is to be said about that. From what is known while it holds, else the
   * server is asked; one that cannot be asked offers none. Rejects only when the signal aborts.
   */
  readonly toolsOf: (target: McpTarget, stored: StoredTools | undefined, signal: AbortSignal) => Promise<ReadTools>;
  /** Asks the server, whatever is known. */
  readonly refresh: (target: McpTarget, signal: AbortSignal) => Promise<ReadTools>;
  /** The server said that its list changed. It is asked at once, so that the next run need not wait for it. */
  readonly markChanged: (target: McpTarget) => void;
}

const REMEMBERED_LISTS = 1000;
/** A failure is remembered for as long as it took, times this: what fails at once may be tried again at once. */
const FAILURE_FACTOR = 3;
const MAX_FAILURE_MS = 60_000;

const ASK_AGAIN_AFTER_MS = 10_000;
const SAME_MOMENT_MS = 250;

interface Remembered {
  readonly list: ReadTools;
  readonly until: number;
  /** Set for a list that was stored: what stood there before. Runs that loaded the tenant just then do not ask for it again. */
  readonly before?: StoredTools;
}

/** The list, where it still holds for a run that has this from the database. */
function stillHolding(known: Remembered | undefined, stored: StoredTools | undefined): ReadTools | undefined {
  if (known === undefined || known.until <= monotonicMs()) return undefined;
  return known.before === undefined || known.before.tools === stored?.tools ? known.list : undefined;
}

interface DirectoryParts {
  readonly pool: McpClientPool;
  /** Undefined where nothing is kept: then lists of registered servers live in memory too. */
  readonly store: McpStore | undefined;
  readonly closing: AbortSignal;
  readonly checkSchema: CheckSchema;
}

/** Lists of tools, asked for once and then remembered: in the database for registered servers, else in memory. */
export function createToolDirectory(parts: DirectoryParts): ToolDirectory {
  const remembered = new LRUCache<string, Remembered>({ max: REMEMBERED_LISTS });
  const asking = new Map<string, Promise<ReadTools>>();
  const changes = createChanges();
  const offer = offerOnce();

  const ask = async (target: McpTarget, key: string, before?: StoredTools): Promise<ReadTools> => {
    const startedAt = monotonicMs();
    try {
      const { tools, warnings, ttlMs } = await listTools(parts, target);
      const kept = await keep(parts.store, target, { tools, ttlMs });
      const offered = offer(target.server, kept.tools);
      const list = { tools: offered.tools, warnings: [...warnings, ...offered.warnings] };
      changes.heard(key, startedAt);
      const forMs = kept.isStored ? Math.min(ttlMs, SAME_MOMENT_MS) : ttlMs;
      remembered.set(key, { list, until: startedAt + forMs, before: kept.isStored ? before : undefined });
      return list;
    } catch (error) {
      const failure = await describeFailure(error, target, startedAt);
      remembered.set(key, failure);
      return failure.list;
    }
  };
  /** Callers at the same time share one request, which goes on when one of them gives up. */
  const askOnce = (target: McpTarget, signal: AbortSignal, before?: StoredTools): Promise<ReadTools> => {
    const key = listKey(target);
    const answer = asking.get(key) ?? ask(target, key, before).finally(() => asking.delete(key));
    asking.set(key, answer);
    return untilAborted(answer, signal);
  };

  return {
    toolsOf: (target, stored, signal) => {
      const key = listKey(target);
      const known = stillHolding(remembered.get(key), stored);
      const isFailed = known?.isFailure === true;
      const isChanged = changes.isChanged(targetKey(target), key);
      if (stored?.isFresh === true && (!isChanged || isFailed)) {
        return Promise.resolve(offer(target.server, stored.tools));
      }
      if (known !== undefined && (isFailed || !isChanged)) return Promise.resolve(known);
      return askOnce(target, signal, stored);
    },
    refresh: (target, signal) => askOnce(target, signal),
    markChanged: (target) => {
      // A server that changes all the time is asked by the next run only.
      if (changes.tell(targetKey(target))) askOnce(target, parts.closing).catch(() => undefined);
    },
  };
}

/** One list for each connection and choice of tools from it. */
function listKey(target: McpTarget): string {
  const { includeTools, excludeTools } = target.server;
  return JSON.stringify([targetKey(target), includeTools, excludeTools]);
}

/** When servers said that their lists changed, and which lists are younger than that. */
function createChanges(): {
  /** True when there was no change for a while. */
  readonly tell: (target: string) => boolean;
  readonly heard: (list: string, at: number) => void;
  readonly isChanged: (target: string, list: string) => boolean;
} {
  const toldAt = new LRUCache<string, number>({ max: REMEMBERED_LISTS });
  const heardAt = new LRUCache<string, number>({ max: REMEMBERED_LISTS });
  return {
    tell: (target) => {
      const before = toldAt.get(target) ?? -Infinity;
      toldAt.set(target, monotonicMs());
      return monotonicMs() - before > ASK_AGAIN_AFTER_MS;
    },
    heard: (list, at) => void heardAt.set(list, at),
    isChanged: (target, list) => (toldAt.get(target) ?? -Infinity) > (heardAt.get(list) ?? -Infinity),
  };
}

async function describeFailure(error: unknown, target: McpTarget, startedAt: number): Promise<Remembered> {
  const list: ReadTools = { tools: [], warnings: [await toServerWarning(error, target)], isFailure: true };
  const endedAt = monotonicMs();
  const forMs = Math.min((endedAt - startedAt) * FAILURE_FACTOR, MAX_FAILURE_MS);
  return { list, until: endedAt + forMs };
}

/** The same server with the same list gives the same object again, so that a warm run builds nothing. */
function offerOnce(): typeof offeredTools {
  const last = new WeakMap<McpServer, { readonly known: readonly McpListedTool[]; readonly offered: ReadTools }>();
  return (server, known) => {
    const before = last.get(server);
    if (before?.known === known) return before.offered;
    const offered = offeredTools(server, known);
    last.set(server, { known, offered });
    return offered;
  };
}

/** One deadline over connecting, listing and every attempt at both. */
async function listTools(
  { pool, closing, checkSchema }: DirectoryParts,
  target: McpTarget,
): Promise<ReadTools & { readonly ttlMs: number }> {
  const { server } = target;
  const deadline = startDeadline(server.discoveryTimeoutMs, closing);
  try {
    const list = await onConnection(pool, { target, signal: deadline.signal }, async (connection) => {
      const listed = await connection.listTools(deadline.signal);
      return { ...listed, tools: withoutSecrets(listed.tools, connection.secrets()) };
    });
    const tools = await readTools(server, list.tools, checkSchema);
    return { ...tools, ttlMs: Math.min(list.ttlMs ?? server.listTtlMs, MAX_TTL_MS) };
  } finally {
    deadline.dispose();
  }
}

/** What a server repeats of its credential goes neither to a model nor into the database. */
function withoutSecrets(tools: readonly ListedTool[], secrets: readonly string[]): readonly ListedTool[] {
  if (secrets.length === 0) return tools;
  return redactJson(tools as unknown as JsonValue, createRedactor(secrets)) as unknown as readonly ListedTool[];
}

async function keep(
  store: McpStore | undefined,
  { tenantId, server }: McpTarget,
  { tools, ttlMs }: { readonly tools: ReadTools['tools']; readonly ttlMs: number },
): Promise<{ readonly tools: readonly McpListedTool[]; readonly isStored: boolean }> {
  if (store === undefined || server.id === undefined) {
    return { tools: tools.map((tool) => ({ ...tool, isQuarantined: false })), isStored: false };
  }
  return { tools: await store.saveTools({ tenantId, serverId: server.id, tools, ttlMs }), isStored: true };
}
