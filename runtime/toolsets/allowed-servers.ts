import type { TenantSettings } from '../contracts/tenant';
import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { type AllowsHost, plainHost, readAllowedHosts } from '../tools/web/allowed-hosts';
import { isTextList } from '../util/json';

const SETTING = 'mcp_allowed_hosts';

/**
 * Refuses MCP servers that a workflow brings with it where the tenant's settings list hosts and theirs is not among them:
 * who writes workflows is not always who answers for the tenant. Throws MCP_HOST_FORBIDDEN, or SETTING_INVALID.
 */
export function refuseForeignServers(
  { mcpAllowedHosts }: TenantSettings,
  servers: readonly { readonly name: string; readonly url: string }[],
): void {
  if (mcpAllowedHosts === undefined || mcpAllowedHosts === null || servers.length === 0) return;
  const allows = readHosts(mcpAllowedHosts);
  for (const { name, url } of servers) {
    const address = URL.parse(url);
    // What is no address is never asked, and told as such.
    if (address === null || allows(plainHost(address), address)) continue;
    throw new RuntimeError('MCP_HOST_FORBIDDEN', { server: name, host: plainHost(address) });
  }
}

/** A list that cannot be read must not fall away. */
function readHosts(given: unknown): AllowsHost {
  if (!isTextList(given))
    throw new RuntimeError('SETTING_INVALID', { setting: SETTING, reason: 'it is no list of hosts' });
  try {
    return readAllowedHosts(given, SETTING).allowsHost;
  } catch (error) {
    throw new RuntimeError('SETTING_INVALID', { setting: SETTING, reason: errorText(error) });
  }
}
