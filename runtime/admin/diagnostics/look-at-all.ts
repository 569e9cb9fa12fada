import type { VaultStore } from '../../contracts/tools/vault';
import { describeError, type ErrorSummary, RuntimeError } from '../../errors/runtime-error';
import { toRuntimeError } from '../../errors/to-runtime-error';
import type { ServerHealth } from '../../mcp/check-health';
import type { McpServerDefaults } from '../../mcp/read-server';
import type { Postgres } from '../../storage/postgres/pool';
import type { RedisConnection } from '../../storage/redis/connection';
import { readBacklog } from '../../storage/redis/unwritten-ends';
import { assertReady, databaseStatus } from '../../storage/schema/migrate';
import { PING, TENANTS_WITH_SERVERS, TOOL_ADDRESSES, UNPRICED_TIERS } from '../../storage/sql/admin/find-trouble';
import type { TenantTools } from '../../toolsets/single-calls/tenant-tools';
import { evictionOf, readInfo } from '../../util/redis/server-info';
import { canOpen } from '../../vault/rotate-key';
import type { Sealer } from '../../vault/sealer';
import { secretOwner } from '../../vault/secret-owner';
import type { AdminHost } from '../contract/host';
import type { ListAddress } from '../prices/price-source';
import { checkServers } from '../servers/check-servers';
import { type ComponentHealth, look } from './component';
import { askProvider, reach } from './reach';
import { findRefusedRows } from './refused-rows';

/** What there is to look at. */
export interface Installation {
  readonly postgres: Postgres;
  readonly tenantTools: TenantTools;
  readonly serverDefaults: McpServerDefaults;
  readonly vault: VaultStore;
  readonly sealer?: Sealer;
  readonly redis?: RedisConnection;
  /** Undefined where no model is configured. */
  readonly provider?: ListAddress;
}

/** Looks at everything at once; at what stands in the database only where it can be read. */
export async function lookAtAll(
  installation: Installation,
  tenantId: string | undefined,
  host: AdminHost,
): Promise<readonly ComponentHealth[]> {
  const { postgres, redis, provider } = installation;
  const outside = Promise.all([
    look('redis', redis && (() => lookAtRedis(redis))),
    look('model provider', provider && (() => askProvider(provider, host).then(() => undefined))),
  ]);
  const database = await look('database', () => postgres.query(PING).then(() => undefined));
  const schema = await look('schema', () => lookAtSchema(postgres));
  if (schema.state !== 'up') return [database, schema, ...(await outside)];
  const inside = await Promise.all([
    look('rows', () => lookAtRows(installation)),
    look('prices', () => lookAtPrices(postgres)),
    look('vault', () => lookAtVault(installation)),
  ]);
  const servers = await Promise.all([
    lookAtMcpServers(installation, tenantId, host),
    lookAtToolServers(postgres, host),
  ]);
  return [database, schema, ...inside, ...(await outside), ...servers.flat()];
}

async function lookAtSchema(postgres: Postgres): Promise<undefined> {
  assertReady(await databaseStatus(postgres));
}

type Problems = Promise<{ readonly problems: readonly ErrorSummary[] }>;

async function lookAtRows({ postgres, serverDefaults }: Installation): Problems {
  const { rows, count } = await findRefusedRows(postgres.query, serverDefaults);
  const [first] = rows;
  if (first === undefined) return { problems: [] };
  const { problem, ...where } = first;
  const place = Object.entries(where).map(([kind, name]) => `${kind} ${name}`);
  return { problems: [describeError('ROWS_REFUSED', { count, first: `${place.join(', ')}: ${problem}` })] };
}

async function lookAtPrices({ query }: Postgres): Problems {
  const tiers = await query<{ code: string; model_id: string }>(UNPRICED_TIERS);
  return { problems: tiers.map(({ model_id: model }) => describeError('MODEL_UNPRICED', { model })) };
}

async function lookAtVault({ vault, sealer }: Installation): Problems {
  const rows = await vault.allSecrets();
  if (rows.length > 0 && sealer === undefined) return { problems: [describeError('VAULT_KEY_MISSING')] };
  const isLost = rows.some(
    ({ sealed, tenant_id: tenantId, name }) =>
      sealer !== undefined && !canOpen(sealer, sealed, secretOwner(tenantId ?? undefined, name)),
  );
  return { problems: isLost ? [describeError('VAULT_KEY_WRONG', { keyId: sealer?.keyIds })] : [] };
}

async function lookAtRedis(redis: RedisConnection): Problems {
  const { refused } = await redis.use(readBacklog).catch((error: unknown) => {
    throw new RuntimeError('REDIS_UNAVAILABLE', { reason: (error as Error).message });
  });
  // A user may be kept from INFO.
  const info = await redis.use((client) => client.info()).catch(() => '');
  const policy = evictionOf(readInfo(info));
  return {
    problems: [
      ...(policy === undefined ? [] : [describeError('QUEUE_REDIS_EVICTS', { policy })]),
      ...(refused === 0 ? [] : [describeError('LEDGER_ENDS_REFUSED', { count: refused })]),
    ],
  };
}

async function lookAtMcpServers(
  { postgres, tenantTools }: Installation,
  tenantId: string | undefined,
  host: AdminHost,
): Promise<readonly ComponentHealth[]> {
  const tenants =
    tenantId === undefined ? await postgres.query<{ id: string }>(TENANTS_WITH_SERVERS) : [{ id: tenantId }];
  const found = tenants.map(async ({ id }) => {
    try {
      await checkServers(postgres.query, { tenantId: id }, host);
      return (await tenantTools.health({ tenantId: id })).map((health) => toComponent(id, health));
    } catch (error) {
      return [await look(`MCP servers of tenant ${id}`, () => Promise.reject(toRuntimeError(error)))];
    }
  });
  return (await Promise.all(found)).flat();
}

function toComponent(tenantId: string, { server, state, duration_ms, warnings }: ServerHealth): ComponentHealth {
  return { component: `MCP server ${server} of tenant ${tenantId}`, state, duration_ms, problems: warnings };
}

async function lookAtToolServers({ query }: Postgres, host: AdminHost): Promise<readonly ComponentHealth[]> {
  const rows = await query<{ url: string | null }>(TOOL_ADDRESSES);
  const urls = rows.flatMap(({ url }) => (url === null ? [] : (URL.parse(url) ?? [])));
  const hosts = new Map(urls.map((url) => [url.host, url]));
  return Promise.all(
    [...hosts].map(([name, url]) => look(`tool server ${name}`, () => reach(url, host).then(() => undefined))),
  );
}
