import type { McpServer } from '../contracts/tools/mcp';
import type { ErrorSummary } from '../errors/runtime-error';
import { startDeadline } from '../util/abort';
import { elapsedMs, monotonicMs } from '../util/clock';
import type { McpClientPool } from './client-pool';
import { onConnection } from './on-connection';
import { toServerWarning } from './server-errors';
import type { createToolDirectory } from './tool-directory';

export interface ServerHealth {
  readonly server: string;
  readonly state: 'up' | 'down';
  readonly protocol?: string;
  readonly tools: number;
  readonly duration_ms: number;
  readonly warnings: readonly ErrorSummary[];
}

interface HealthParts<Row> {
  readonly pool: McpClientPool;
  readonly directory: ReturnType<typeof createToolDirectory>;
  /** The server of a row, or why its settings cannot be used. */
  readonly read: (tenantId: string, row: Row) => McpServer | ErrorSummary;
}

/** Connects, pings, and lists the tools again. Never rejects. */
export async function checkHealth<Row extends { readonly name: string }>(
  parts: HealthParts<Row>,
  { tenantId, signal }: { readonly tenantId: string; readonly signal: AbortSignal },
  row: Row,
): Promise<ServerHealth> {
  const startedAt = monotonicMs();
  const report = (rest: Partial<ServerHealth>): ServerHealth => ({
    server: row.name,
    state: 'down',
    tools: 0,
    warnings: [],
    ...rest,
    duration_ms: elapsedMs(startedAt),
  });
  const server = parts.read(tenantId, row);
  if ('code' in server) return report({ warnings: [server] });
  const target = { tenantId, server };
  const deadline = startDeadline(server.discoveryTimeoutMs, signal);
  try {
    const protocol = await onConnection(parts.pool, { target, signal: deadline.signal }, async (connection) => {
      await connection.ping(deadline.signal);
      return connection.protocolVersion;
    });
    const { tools, warnings, isFailure } = await parts.directory.refresh(target, deadline.signal);
    return report({ state: isFailure === true ? 'down' : 'up', protocol, tools: tools.length, warnings });
  } catch (error) {
    return report({ warnings: [await toServerWarning(error, target)] });
  } finally {
    deadline.dispose();
  }
}
