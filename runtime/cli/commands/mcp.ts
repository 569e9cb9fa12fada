import { isJsonObject, type JsonObject, tryParseJson } from '../../util/json';
import { readStandardInput, readTenant, UsageError } from '../arguments';
import { waitForBrowser } from '../browser-login';
import { command, TENANT, TEXT, TEXTS } from '../command';
import { withAdmin, withToolRuntime } from '../environment';
import { printJson } from '../output';

export const mcpCommands = [
  command({
    words: 'mcp add',
    names: ['NAME', 'URL'],
    usage:
      '--tenant ID [--transport http|sse|websocket|stdio] [--bearer TOKEN|-] [--auth JSON|-] [--on-tool-change accept|quarantine]',
    help: 'Register an MCP server and let the tenant use it.',
    options: { tenant: TENANT, transport: TEXT, bearer: TEXT, auth: TEXT, 'on-tool-change': TEXT },
    run: (options, [name = '', url = '']) => add({ name, url, options }),
  }),
  command({
    words: 'mcp login',
    names: ['NAME'],
    usage: '--tenant ID [--port PORT]',
    help: 'Log the tenant in with OAuth; needs AGENT_VAULT_KEY.',
    options: { tenant: TENANT, port: TEXT },
    run: (options, [name = '']) => login(name, options),
  }),
  command({
    words: 'mcp health',
    usage: '--tenant ID [--server NAME]',
    help: "Connect to the tenant's MCP servers; exit 1 if one is down.",
    options: { tenant: TENANT, server: TEXT },
    run: health,
  }),
  command({
    words: 'mcp approve',
    names: ['NAME'],
    usage: '--tenant ID [--tool TOOL]...',
    help: 'Approve tools that changed.',
    options: { tenant: TENANT, tool: TEXTS },
    run: (options, [name = '']) => approve(name, options),
  }),
  command({
    words: 'mcp list',
    usage: '--tenant ID',
    help: "The tenant's MCP servers, without asking them.",
    options: { tenant: TENANT },
    run: (options) => {
      const tenantId = readTenant(options, 'mcp list');
      return withAdmin(({ mcpServer }) => mcpServer.list({ tenantId }));
    },
  }),
  command({
    words: 'mcp disconnect',
    usage: '--tenant ID [--server NAME]',
    help: 'Have every process ask for the lists of tools again with its next run.',
    options: { tenant: TENANT, server: TEXT },
    run: ({ server, ...options }) => {
      const tenantId = readTenant(options, 'mcp disconnect');
      return withAdmin(({ mcpServer }) => mcpServer.disconnect({ tenantId, server }));
    },
  }),
  command({
    words: 'mcp remove',
    names: ['NAME'],
    usage: '--tenant ID',
    help: 'Take the server from the tenant; it is forgotten when no other tenant uses it.',
    options: { tenant: TENANT },
    run: (options, [server = '']) => {
      const tenantId = readTenant(options, 'mcp remove');
      return withAdmin(({ mcpServer }) => mcpServer.remove({ tenantId, server }));
    },
  }),
  command({
    words: 'logins list',
    usage: '[--tenant ID]',
    help: 'OAuth logins at MCP servers; no token is shown.',
    options: { tenant: TENANT },
    run: (options) => {
      const tenantId = options.tenant === undefined ? undefined : readTenant(options, 'logins list');
      return withAdmin(({ oauthLogin }) => oauthLogin.list({ tenantId }));
    },
  }),
  command({
    words: 'logins revoke',
    names: ['SERVER'],
    usage: '--tenant ID',
    help: 'Forget the tokens of a login.',
    options: { tenant: TENANT },
    run: (options, [server = '']) => {
      const tenantId = readTenant(options, 'logins revoke');
      return withAdmin(({ oauthLogin }) => oauthLogin.revoke({ tenantId, server }));
    },
  }),
];

function health(options: { readonly tenant?: string; readonly server?: string }): Promise<number> {
  const tenantId = readTenant(options, 'mcp health');
  return withToolRuntime(async ({ tools }) => {
    const servers = await tools.health({ tenantId, server: options.server });
    printJson({ tenant_id: tenantId, servers });
    return servers.every(({ state }) => state === 'up') ? 0 : 1;
  });
}

interface AddOptions {
  readonly tenant?: string;
  readonly transport?: string;
  readonly bearer?: string;
  readonly auth?: string;
  readonly 'on-tool-change'?: string;
}

async function add({ name, url, options }: { name: string; url: string; options: AddOptions }): Promise<number> {
  const tenantId = readTenant(options, 'mcp add');
  const onToolChange = options['on-tool-change'] as 'accept' | undefined;
  if (onToolChange !== undefined && !['accept', 'quarantine'].includes(onToolChange)) {
    throw new UsageError('--on-tool-change is one of: accept, quarantine.');
  }
  const auth = await readCredential(options);
  const server = { tenantId, name, url, transport: options.transport, auth, onToolChange };
  return withAdmin(({ mcpServer }) => mcpServer.add(server));
}

/** `--bearer TOKEN`, or `--auth FILE-CONTENT` as JSON; `-` reads either from standard input, where nobody looks on. */
async function readCredential({ bearer, auth }: AddOptions): Promise<JsonObject | undefined> {
  if (bearer !== undefined && auth !== undefined) throw new UsageError('Give --bearer or --auth, not both.');
  if (bearer !== undefined)
    return { kind: 'bearer', token: bearer === '-' ? (await readStandardInput()).trim() : bearer };
  if (auth === undefined) return undefined;
  const parsed = tryParseJson(auth === '-' ? await readStandardInput() : auth);
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  throw new UsageError('--auth is not a JSON object.');
}

function approve(server: string, options: { readonly tenant?: string; readonly tool?: string[] }): Promise<number> {
  const tenantId = readTenant(options, 'mcp approve');
  return withAdmin(({ mcpServer }) => mcpServer.approve({ tenantId, server, tools: options.tool }));
}

async function login(name: string, options: { readonly tenant?: string; readonly port?: string }): Promise<number> {
  const tenantId = readTenant(options, 'mcp login');
  const browser = waitForBrowser(readPort(options.port));
  try {
    return await withToolRuntime(async ({ tools }) => {
      const [server] = await tools.health({ tenantId, server: name });
      printJson({ tenant_id: tenantId, ...server });
      return server?.state === 'up' ? 0 : 1;
    }, browser);
  } finally {
    browser.close();
  }
}

const DEFAULT_PORT = 8976;

function readPort(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port <= 65_535) return port;
  throw new UsageError('--port is not a port number.');
}
