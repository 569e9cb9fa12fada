import { text } from 'node:stream/consumers';

import { DEFAULTS } from '../../config/runtime-config';
import { RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { readMcpServer } from '../../mcp/read-server';
import { type AddedServer, addMcpServerStatement, approveMcpToolsStatement } from '../../storage/sql/manage-mcp';
import { isJsonObject, type JsonObject, tryParseJson } from '../../util/json';
import { readTenant, UsageError } from '../arguments';
import { waitForBrowser } from '../browser-login';
import { command, TEXT, TEXTS } from '../command';
import { withDatabase, withToolRuntime } from '../environment';
import { printJson } from '../output';

export const mcpCommands = [
  command({
    words: 'mcp add',
    names: ['NAME', 'URL'],
    usage:
      '--tenant ID [--transport http|sse|websocket|stdio] [--bearer TOKEN|-] [--auth JSON|-] [--on-tool-change accept|quarantine]',
    help: 'Register an MCP server and let the tenant use it.',
    options: { tenant: TEXT, transport: TEXT, bearer: TEXT, auth: TEXT, 'on-tool-change': TEXT },
    run: (options, [name = '', url = '']) => add({ name, url, options }),
  }),
  command({
    words: 'mcp login',
    names: ['NAME'],
    usage: '--tenant ID [--port PORT]',
    help: 'Log the tenant in with OAuth; needs AGENT_VAULT_KEY.',
    options: { tenant: TEXT, port: TEXT },
    run: (options, [name = '']) => login(name, options),
  }),
  command({
    words: 'mcp health',
    usage: '--tenant ID [--server NAME]',
    help: "Connect to the tenant's MCP servers; exit 1 if one is down.",
    options: { tenant: TEXT, server: TEXT },
    run: health,
  }),
  command({
    words: 'mcp approve',
    names: ['NAME'],
    usage: '--tenant ID [--tool TOOL]...',
    help: 'Approve tools that changed.',
    options: { tenant: TEXT, tool: TEXTS },
    run: (options, [name = '']) => approve(name, options),
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
  const policy = options['on-tool-change'];
  if (policy !== undefined && policy !== 'accept' && policy !== 'quarantine') {
    throw new UsageError('--on-tool-change is one of: accept, quarantine.');
  }
  const auth = await readCredential(options);
  const { transport = 'http' } = options;
  checkServer({ name, url, transport, auth });
  return withDatabase(async (postgres) => {
    const request = { tenantId, name, url, transport, auth, policy };
    const [added] = await postgres.query<AddedServer>(addMcpServerStatement(request));
    if (added === undefined) throw new RuntimeError('TENANT_NOT_FOUND', { tenantId });
    if (added.url !== url || added.transport !== transport) {
      throw new RuntimeError('MCP_SERVER_EXISTS', { server: name, url: added.url });
    }
    printJson({ tenant_id: tenantId, server: name, url, transport });
    return 0;
  });
}

function checkServer(server: Parameters<typeof readMcpServer>[0]): void {
  try {
    readMcpServer(server, {
      discoveryTimeoutMs: DEFAULTS.mcpDiscoveryTimeoutMs,
      callTimeoutMs: DEFAULTS.mcpCallTimeoutMs,
      listTtlMs: DEFAULTS.mcpListTtlMs,
    });
  } catch (error) {
    throw new RuntimeError('MCP_SERVER_INVALID', { server: server.name, reason: errorText(error) });
  }
}

/** `--bearer TOKEN`, or `--auth FILE-CONTENT` as JSON; `-` reads either from standard input, where nobody looks on. */
async function readCredential({ bearer, auth }: AddOptions): Promise<JsonObject | undefined> {
  if (bearer !== undefined && auth !== undefined) throw new UsageError('Give --bearer or --auth, not both.');
  if (bearer !== undefined)
    return { kind: 'bearer', token: bearer === '-' ? (await text(process.stdin)).trim() : bearer };
  if (auth === undefined) return undefined;
  const parsed = tryParseJson(auth === '-' ? await text(process.stdin) : auth);
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  throw new UsageError('--auth is not a JSON object.');
}

function approve(name: string, options: { readonly tenant?: string; readonly tool?: string[] }): Promise<number> {
  const tenantId = readTenant(options, 'mcp approve');
  return withDatabase(async (postgres) => {
    const rows = await postgres.query<{ name: string }>(
      approveMcpToolsStatement({ tenantId, server: name, tools: options.tool }),
    );
    printJson({ tenant_id: tenantId, server: name, approved: rows.map((row) => row.name) });
    return 0;
  });
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
