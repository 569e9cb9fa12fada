import type { McpTool } from '../../runtime/contracts/tools/mcp';
import type { ToolSettings } from '../../runtime/contracts/tools/tool-transport';
import { createMcpServers, type McpServers, type ServerOffer } from '../../runtime/mcp/mcp-servers';
import type { BrowserLogin } from '../../runtime/mcp/oauth/oauth-provider';
import type { JsonObject } from '../../runtime/util/json';

/*
 * Our pool as the client under test of the protocol's conformance suite: connect, list, call every tool, close.
 * Usage: client <server-url>, with the suite's environment variables. Exit code 1 and the reason when a step fails.
 */

/** What some scenarios hand over, beside the server's URL. */
interface ScenarioContext {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly private_key_pem?: string;
  readonly signing_algorithm?: string;
  readonly valid_jwt?: string;
  readonly idp_client_id?: string;
  readonly idp_id_token?: string;
  readonly idp_token_endpoint?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[];
}

const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as ScenarioContext;
const TENANT_ID = 'conformance';
const REDIRECT_URL = 'http://localhost:3000/callback';

/** A person who agrees to everything: the suite's authorization server redirects at once. */
const login: BrowserLogin = {
  redirectUrl: REDIRECT_URL,
  authorize: async (url) => {
    const response = await fetch(url, { redirect: 'manual' });
    const location = response.headers.get('location');
    if (location === null) throw new Error(`the authorization server answered HTTP ${response.status}`);
    return new URL(location).searchParams;
  },
};

function credential(): JsonObject {
  const { client_id, client_secret } = context;
  if (!scenario.startsWith('auth/')) return {};
  if (scenario === 'auth/client-credentials-jwt') {
    const { private_key_pem: private_key = '', signing_algorithm: algorithm = 'ES256' } = context;
    return oauth({ grant: 'client_credentials', client_id, private_key, algorithm });
  }
  if (scenario === 'auth/client-credentials-basic')
    return oauth({ grant: 'client_credentials', client_id, client_secret });
  if (context.idp_id_token !== undefined) {
    const idp = {
      token_url: context.idp_token_endpoint,
      client_id: context.idp_client_id,
      id_token: context.idp_id_token,
    };
    return oauth({ grant: 'cross_app_access', client_id, client_secret, idp });
  }
  if (context.valid_jwt !== undefined) return oauth({ grant: 'jwt_bearer', client_id, assertion: context.valid_jwt });
  if (scenario.startsWith('auth/dpop')) return oauth({ dpop: true });
  if (client_id !== undefined) return oauth({ client_id, client_secret });
  return oauth({ client_metadata_url: 'https://conformance-test.local/client-metadata.json' });
}

const oauth = (rest: object): JsonObject => JSON.parse(JSON.stringify({ kind: 'oauth', ...rest })) as JsonObject;

async function run(url: string): Promise<void> {
  const mcp = createMcpServers({
    maxConnections: 10,
    idleMs: 60_000,
    connectTimeoutMs: 20_000,
    discoveryTimeoutMs: 20_000,
    callTimeoutMs: 20_000,
    listTtlMs: 60_000,
    store: undefined,
    sealer: undefined,
    stdioCommands: [],
    checkSchema: () => undefined,
    login,
  });
  try {
    const [offer] = await mcp.discover({
      tenantId: TENANT_ID,
      servers: [{ name: 'suite', url, auth: credential(), settings: { answers_with_defaults: true } }],
      isWanted: () => true,
      signal: AbortSignal.timeout(25_000),
    });
    const { server, tools, warnings } = offer as ServerOffer;
    if (warnings.length > 0) process.stderr.write(`${JSON.stringify(warnings)}\n`);
    if (server === undefined || (tools.length === 0 && warnings.length > 0)) throw new Error('no tools');
    for (const call of context.toolCalls ?? callsFor(tools)) {
      const tool = tools.find(({ name }) => name === call.name) as McpTool;
      // A call that fails is the model's affair; the client goes on.
      await callTool(mcp, { server, tool }, call.arguments).catch((error: unknown) =>
        process.stderr.write(`${call.name}: ${String(error)}\n`),
      );
    }
  } finally {
    await mcp.close();
  }
}

/** The suite's tool that wants to see the schema of its neighbour as we have it. */
const SCHEMA_ECHO = 'json_schema_echo';

function callsFor(tools: readonly McpTool[]): readonly SampleCall[] {
  const neighbour = tools.find(({ name }) => name !== SCHEMA_ECHO);
  return tools.map((tool) =>
    tool.name === SCHEMA_ECHO && neighbour !== undefined
      ? { name: tool.name, arguments: { schema: neighbour.inputSchema } }
      : sampleCall(tool),
  );
}

interface SampleCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

const sampleCall = ({ name, inputSchema }: McpTool): SampleCall => ({
  name,
  arguments: Object.fromEntries(
    Object.entries((inputSchema.properties ?? {}) as Record<string, { type?: string }>).map(([key, { type }]) => [
      key,
      type === 'number' || type === 'integer' ? 5 : type === 'boolean' ? true : 'us-west1',
    ]),
  ),
});

async function callTool(
  mcp: McpServers,
  { server, tool }: { readonly server: NonNullable<ToolSettings['server']>; readonly tool: McpTool },
  input: JsonObject,
): Promise<void> {
  const { name, description, inputSchema, isRepeatable } = tool;
  const settings: ToolSettings = {
    name,
    description,
    inputSchema,
    isRepeatable,
    server,
    endpoint: server.url,
    headers: {},
    timeoutMs: server.callTimeoutMs,
    config: {},
    allowedHosts: [],
    secrets: [],
    mcpTool: name,
  };
  const reply = await mcp.transport.call(settings, {
    input,
    meta: { tenant_id: TENANT_ID, task_id: 'conformance' },
    signal: AbortSignal.timeout(20_000),
    maxOutputBytes: 65_536,
    variables: new Map(),
    onProgress: () => undefined,
  });
  process.stderr.write(`${name}: ${reply.text.slice(0, 200)}\n`);
}

run(process.argv[2] ?? '').then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
