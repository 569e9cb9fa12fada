import pRetry from 'p-retry';

import { untilAborted } from '../util/abort';
import type { McpClientPool } from './client-pool';
import type { McpConnection, McpTarget } from './connection';
import { isWorthRetrying } from './server-errors';

const RETRIES = 2;
const RETRY_AFTER_MS = 100;

/**
 * Asks a server something that may be asked twice. A connection that fails is dropped, and another one tried.
 * Rejects with what failed last, or with the signal's reason.
 */
export function onConnection<T>(
  pool: McpClientPool,
  { target, signal }: { readonly target: McpTarget; readonly signal: AbortSignal },
  ask: (connection: McpConnection) => Promise<T>,
): Promise<T> {
  const attempt = (): Promise<T> =>
    pool.use(target, async (connecting) => {
      const connection = await untilAborted(connecting, signal);
      try {
        return await untilAborted(ask(connection), signal);
      } catch (error) {
        pool.drop(target, connection);
        throw error;
      }
    });
  return pRetry(attempt, {
    retries: RETRIES,
    minTimeout: RETRY_AFTER_MS,
    signal,
    shouldRetry: ({ error }) => isWorthRetrying(error),
  });
}
