import { listServers, type ServerEntry } from '../../storage/sql/admin/list-servers';
import type { Query } from '../../storage/statement';
import { checkAddress } from '../check-address';
import type { AdminHost } from '../contract/host';
import type { OfServers } from '../contract/server';

/** Throws ADDRESS_FORBIDDEN for a server that the rules of the host keep us from. */
export async function checkServers(query: Query, { tenantId, server }: OfServers, host: AdminHost): Promise<void> {
  if (host.egress === undefined) return;
  for (const row of await query<ServerEntry>(listServers({ tenantId }))) {
    const isAsked = row.is_enabled && row.transport !== 'stdio' && (server === undefined || row.server === server);
    if (isAsked) await checkAddress(row.url, host);
  }
}
