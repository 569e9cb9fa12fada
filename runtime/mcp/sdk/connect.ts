import {
  type CallToolResult,
  Client,
  type ClientOptions,
  IssuerMismatchError,
  type OAuthClientProvider,
  SdkError,
  SdkErrorCode,
  type StandardSchemaV1,
  StreamableHTTPClientTransport,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Tool as SdkTool,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';

import type { McpServer } from '../../contracts/tools/mcp';
import { untilAborted } from '../../util/abort';
import type { JsonObject } from '../../util/json';
import type { ConnectRequest, ListedTool, McpCallRequest, McpConnection, McpToolList } from '../connection';
import type { McpToolResult } from '../content';
import { OAuthProvider } from '../oauth/oauth-provider';
import { authProvider, secretsOf } from './connect-auth';
import { describeFailure, LoginRequiredError, markLostSession } from './connect-failures';
import { createTransport, type Credential, type Leniency, renewableToken } from './connect-transport';
import { withLightLists } from './light-lists';
import { FAULT_KEY } from './tidy-results';

/** Trusted facts of the run stand under this key of the call's `_meta`. */
const CONTEXT_KEY = 'universal-ai-agent/context';

/** The SDK has no "never"; the signal that we pass carries the real deadline. */
const LONGER_THAN_ANY_CALL_MS = 3_600_000;

/** A server that hangs must not hold up the end of the process. */
const CLOSE_GRACE_MS = 1000;

/** A server that asks for ever wider scopes is refused after this many logins. */
const MAX_LOGINS = 2;
const MAX_PAGES = 50;
const STDIO_PROBE_MS = 2000;

/** An early draft that some servers still answer with; its messages are those of the first release. */
const DRAFT_VERSION = '2024-10-01';

/** Connects in the newest generation that the server speaks. Rejects when the signal aborts. */
export async function connectMcp(request: ConnectRequest): Promise<McpConnection> {
  const provider = authProvider(request);
  const renewable = renewableToken(request);
  const credential = { provider, renewable };
  const session = await openSession(request, credential, {}).catch((error: unknown) => {
    const leniency = leniencyFor(error, request.server);
    if (leniency === undefined) throw error;
    return openSession(request, credential, leniency);
  });
  const { client, transport } = session;
  return {
    protocolVersion: client.getNegotiatedProtocolVersion() ?? 'unknown',
    listTools: (signal) => loggedIn(session, () => listTools(client, signal)),
    callTool: (call) => loggedIn(session, () => callTool(client, call)),
    ping: (signal) => loggedIn(session, () => ping(client, signal)),
    secrets: () => [...secretsOf(request.server, provider), ...(renewable?.secrets() ?? [])],
    close: async () => {
      // Ends the session on the server; servers without sessions refuse, which is as good.
      if (transport instanceof StreamableHTTPClientTransport) {
        const grace = AbortSignal.timeout(CLOSE_GRACE_MS);
        await untilAborted(transport.terminateSession(), grace).catch(() => undefined);
      }
      await client.close();
    },
  };
}

interface Session {
  readonly client: Client;
  readonly transport: Transport;
  readonly provider: OAuthClientProvider | undefined;
}

function leniencyFor(error: unknown, { url }: McpServer): Leniency | undefined {
  // Some fail with a 5xx on the question for their generation, instead of saying that they do not know it.
  if (SdkError.isInstance(error) && error.code === SdkErrorCode.EraNegotiationFailed) return { isLegacy: true };
  if (!IssuerMismatchError.isInstance(error) || error.kind !== 'metadata') return undefined;
  // Before 2025-06-18 a server was its own authorization server, often under a path that it did not announce.
  const own = new URL(url).origin;
  const isOwn = [error.expected, error.received].every((issuer) => URL.parse(issuer ?? '')?.origin === own);
  return isOwn ? { skipIssuerMetadataValidation: true } : undefined;
}

async function openSession(request: ConnectRequest, credential: Credential, leniency: Leniency): Promise<Session> {
  const { provider } = credential;
  for (let logins = 0; ; logins++) {
    const client = createClient(request, leniency.isLegacy === true ? 'legacy' : generationOf(request.server));
    const transport = await createTransport(request, credential, leniency);
    try {
      await connectOrClose({ client, transport }, request.signal);
      // Only from here on: a connection that was never made cannot be lost.
      client.onclose = request.onClose;
      return { client, transport, provider };
    } catch (error) {
      await closeBoth({ client, transport });
      await finishLogin({ error, transport, provider, logins });
    }
  }
}

/** The SDK looks at the signal in some of its steps only; what goes on after it is closed when it ends. */
async function connectOrClose(session: Pick<Session, 'client' | 'transport'>, signal: AbortSignal): Promise<void> {
  const { client, transport } = session;
  const connecting = client.connect(transport, { signal, timeout: LONGER_THAN_ANY_CALL_MS });
  try {
    await untilAborted(connecting, signal);
  } catch (error) {
    connecting.then(
      () => closeBoth(session),
      () => undefined,
    );
    throw error;
  }
}

async function closeBoth({ client, transport }: Pick<Session, 'client' | 'transport'>): Promise<void> {
  await Promise.allSettled([client.close(), transport.close()]);
}

/** Server-sent events and WebSockets belong to the old generation alone. */
function generationOf({ transport }: McpServer): 'auto' | 'legacy' {
  return transport === 'http' || transport === 'stdio' ? 'auto' : 'legacy';
}

function createClient({ server, onToolsChanged }: ConnectRequest, mode: 'auto' | 'legacy'): Client {
  const options: ClientOptions = {
    // A program that says nothing is an old one; a server that says nothing is down, which the signal ends.
    versionNegotiation: { mode, ...(server.transport === 'stdio' ? { probe: { timeoutMs: STDIO_PROBE_MS } } : {}) },
    supportedProtocolVersions: [...SUPPORTED_PROTOCOL_VERSIONS, DRAFT_VERSION],
    listMaxPages: MAX_PAGES,
    // Not held back: a server that announces changes all the time would never be heard.
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onToolsChanged } },
    capabilities: server.answersWithDefaults ? { elicitation: { form: { applyDefaults: true } } } : {},
  };
  const client = withLightLists(new Client({ name: 'universal-ai-agent', version: '0.1.0' }, options));
  // Errors of single calls reject the calls; this hook would only report them twice.
  client.onerror = () => undefined;
  if (server.answersWithDefaults) {
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }));
  }
  return client;
}

async function ping(client: Client, signal: AbortSignal): Promise<void> {
  const options = { signal, timeout: LONGER_THAN_ANY_CALL_MS };
  const answer = client.getProtocolEra() === 'modern' ? client.discover(options) : client.ping(options);
  // A server that says that it knows no ping is alive too.
  await answer.catch((error: unknown) => {
    if (describeFailure(error).kind !== 'answer') throw error;
  });
}

async function listTools(client: Client, signal: AbortSignal): Promise<McpToolList> {
  const options = { signal, timeout: LONGER_THAN_ANY_CALL_MS, cacheMode: 'refresh' } as const;
  const result = await client.listTools(undefined, options);
  const { ttlMs } = result as { ttlMs?: unknown };
  return {
    tools: result.tools.map(toListedTool),
    ...(typeof ttlMs === 'number' && ttlMs > 0 ? { ttlMs } : {}),
  };
}

function toListedTool({ name, description, inputSchema, annotations, _meta }: SdkTool): ListedTool {
  const tool = { name, description, inputSchema: inputSchema as JsonObject, annotations };
  return _meta?.[FAULT_KEY] === true ? { ...tool, isFaulty: true } : tool;
}

function callTool(client: Client, call: McpCallRequest): Promise<McpToolResult> {
  const params = {
    name: call.name,
    arguments: { ...call.arguments },
    _meta: { [CONTEXT_KEY]: call.context },
  };
  const options = { signal: call.signal, timeout: LONGER_THAN_ANY_CALL_MS, onprogress: call.onProgress };
  const toolDefinition: SdkTool = { name: call.name, inputSchema: { ...call.inputSchema, type: 'object' } };
  return client.getProtocolEra() === 'modern'
    ? client.callTool(params, { ...options, toolDefinition })
    : client.request({ method: 'tools/call', params }, ANY_RESULT, options);
}

/** Old servers send contents that no schema of the SDK knows. */
const ANY_RESULT: StandardSchemaV1<CallToolResult> = {
  '~standard': { version: 1, vendor: 'universal-ai-agent', validate: (value) => ({ value: value as CallToolResult }) },
};

/** Runs `work` again after each login that the server asks for. It was refused before it had an effect. */
async function loggedIn<T>({ transport, provider }: Session, work: () => Promise<T>): Promise<T> {
  for (let logins = 0; ; logins++) {
    const hadSession = transport.sessionId !== undefined;
    try {
      return await work();
    } catch (error) {
      if (hadSession) markLostSession(error);
      await finishLogin({ error, transport, provider, logins });
    }
  }
}

/** Ends a login that the SDK began. Throws what came when there is none, or no more. */
async function finishLogin(attempt: {
  readonly error: unknown;
  readonly transport: Transport;
  readonly provider: OAuthClientProvider | undefined;
  readonly logins: number;
}): Promise<void> {
  const { error, transport, provider, logins } = attempt;
  if (!UnauthorizedError.isInstance(error) || logins >= MAX_LOGINS) throw error;
  if (!(provider instanceof OAuthProvider) || !('finishAuth' in transport)) throw error;
  const answer = await provider.answer();
  if (answer === undefined) throw new LoginRequiredError('the server asks for a login', { cause: error });
  await (transport as StreamableHTTPClientTransport).finishAuth(answer);
}
