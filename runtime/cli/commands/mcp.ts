import { text } from 'node:stream/consumers';

import { DEFAULTS } from '../../config/runtime-config';
import { RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { readMcpServer } from '../../mcp/read-server';
import type { Postgres } from '../../storage/postgres/pool';
import { type AddedServer, addMcpServerStatement, approveMcpToolsStatement } from '../../storage/sql/manage-mcp';
import { isJsonObject, type JsonObject, tryParseJson } from '../../util/json';
import { type Options, readTenant, UsageError } from '../arguments';
import { waitForBrowser } from '../browser-login';
import { openDatabase, openToolRuntime } from '../environment';
import { printJson } from '../output';

/** `mcp health`, `mcp add NAME URL`, `mcp approve NAME` and `mcp login NAME`. */
export async function mcpCommand(words: readonly string[], options: Options): Promise<number> {
  const [, action, name, url] = words;
  if (action === 'health') return health(options);
  if (action === 'add') return add({ name, url, options });
  if (action === 'approve') return approve(name, options);
  if (action === 'login') return login(name, options);
  throw new UsageError('mcp needs one of: health, add NAME URL, approve NAME, login NAME.');
}

async function health(options: Options): Promise<number> {
  const tenantId = readTenant(options, 'mcp health');
  const runtime = openToolRuntime();
  try {
    const servers = await runtime.tools.health({ tenantId, server: options.server });
    printJson({ tenant_id: tenantId, servers });
    return servers.every(({ state }) => state === 'up') ? 0 : 1;
  } finally {
    await runtime.close();
  }
}

async function add(given: { name?: string; url?: string; options: Options }): Promise<number> {
  const { name, url, options } = given;
  if (name === undefined || url === undefined) throw new UsageError('mcp add needs NAME and URL.');
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
async function readCredential({ bearer, auth }: Options): Promise<JsonObject | undefined> {
  if (bearer !== undefined && auth !== undefined) throw new UsageError('Give --bearer or --auth, not both.');
  if (bearer !== undefined)
    return { kind: 'bearer', token: bearer === '-' ? (await text(process.stdin)).trim() : bearer };
  if (auth === undefined) return undefined;
  const parsed = tryParseJson(auth === '-' ? await text(process.stdin) : auth);
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  throw new UsageError('--auth is not a JSON object.');
}

async function approve(name: string | undefined, options: Options): Promise<number> {
  if (name === undefined) throw new UsageError('mcp approve needs the NAME of a server.');
  const tenantId = readTenant(options, 'mcp approve');
  return withDatabase(async (postgres) => {
    const rows = await postgres.query<{ name: string }>(
      approveMcpToolsStatement({ tenantId, server: name, tools: options.tool }),
    );
    printJson({ tenant_id: tenantId, server: name, approved: rows.map((row) => row.name) });
    return 0;
  });
}

async function login(name: string | undefined, options: Options): Promise<number> {
  if (name === undefined) throw new UsageError('mcp login needs the NAME of a server.');
  const tenantId = readTenant(options, 'mcp login');
  const browser = waitForBrowser(readPort(options.port));
  const runtime = openToolRuntime(browser);
  try {
    const [server] = await runtime.tools.health({ tenantId, server: name });
    printJson({ tenant_id: tenantId, ...server });
    return server?.state === 'up' ? 0 : 1;
  } finally {
    browser.close();
    await runtime.close();
  }
}

const DEFAULT_PORT = 8976;

function readPort(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port <= 65_535) return port;
  throw new UsageError('--port is not a port number.');
}

async function withDatabase(work: (postgres: Postgres) => Promise<number>): Promise<number> {
  const postgres = openDatabase();
  try {
    return await work(postgres);
  } finally {
    await postgres.close();
  }
}
