import { UsageError } from '../arguments';
import { waitForBrowser } from '../browser-login';
import { command, TENANT, text } from '../command';
import { withToolRuntime } from '../environment';
import { printJson } from '../output';

/** No operation: it needs a browser, and an address of this machine that the browser comes back to. */
export const mcpLoginCommand = command({
  words: 'mcp-server login',
  names: ['NAME'],
  help: 'Log the tenant in with OAuth; needs AGENT_VAULT_KEY.',
  options: { tenant: { ...TENANT, optional: false }, port: text('PORT') },
  run: async ({ tenant: tenantId, port }, [server = '']) => {
    if (tenantId === undefined) throw new UsageError('mcp-server login needs --tenant TENANT.');
    const browser = waitForBrowser(readPort(port));
    try {
      return await withToolRuntime(async ({ tools }) => {
        const [state] = await tools.health({ tenantId, server });
        printJson({ tenant_id: tenantId, ...state });
        return state?.state === 'up' ? 0 : 1;
      }, browser);
    } finally {
      browser.close();
    }
  },
});

const DEFAULT_PORT = 8976;

function readPort(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port <= 65_535) return port;
  throw new UsageError('--port is not a port number.');
}
