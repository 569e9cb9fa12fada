import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface OAuthServer {
  /** The protected MCP server. */
  readonly url: string;
  readonly origin: string;
  /** Grant types of the token requests, oldest first. */
  readonly grants: readonly string[];
  readonly registrations: () => number;
  /** Refuses every access token given out so far. */
  readonly expireTokens: () => void;
  /** Refuses every refresh token given out so far. */
  readonly revoke: () => void;
  readonly close: () => Promise<void>;
}

export interface OAuthServerOptions {
  /** The MCP server behind it, which itself asks for nothing. */
  readonly target: string;
  /** What the protected resource metadata says instead of this server itself. */
  readonly authorizationServer?: string;
}

interface State extends OAuthServerOptions {
  readonly grants: string[];
  readonly clients: Set<string>;
  readonly challenges: Map<string, string>;
  readonly accessTokens: Set<string>;
  readonly refreshTokens: Set<string>;
  origin: string;
}

/** An authorization server that agrees to everything, and a proxy that lets in who has a token. */
export async function startOAuthServer(options: OAuthServerOptions): Promise<OAuthServer> {
  const state: State = {
    ...options,
    grants: [],
    clients: new Set(),
    challenges: new Map(),
    accessTokens: new Set(),
    refreshTokens: new Set(),
    origin: '',
  };
  const server = createServer((request, response) => void answer(state, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  state.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${state.origin}/mcp`,
    origin: state.origin,
    grants: state.grants,
    registrations: () => state.clients.size,
    expireTokens: () => state.accessTokens.clear(),
    revoke: () => state.refreshTokens.clear(),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', state.origin);
  const body = await text(request);
  if (url.pathname === '/mcp') return proxy(state, { request, response, body });
  const json = (status: number, value: object): void =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  if (url.pathname.startsWith('/.well-known/oauth-protected-resource')) {
    const server = state.authorizationServer ?? state.origin;
    return json(200, { resource: `${state.origin}/mcp`, authorization_servers: [server] });
  }
  if (url.pathname.startsWith('/.well-known/')) return json(200, metadata(state.origin));
  if (url.pathname === '/register') return json(201, register(state, body));
  if (url.pathname === '/authorize') return authorize(state, url, response);
  if (url.pathname === '/token') return token(state, new URLSearchParams(body), json);
  return json(404, {});
}

const metadata = (origin: string): object => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  registration_endpoint: `${origin}/register`,
  response_types_supported: ['code'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none'],
});

function register(state: State, body: string): object {
  const clientId = `client-${randomUUID()}`;
  state.clients.add(clientId);
  return { ...(JSON.parse(body) as object), client_id: clientId };
}

function authorize(state: State, url: URL, response: ServerResponse): void {
  const asked = url.searchParams;
  const code = randomUUID();
  state.challenges.set(code, asked.get('code_challenge') ?? '');
  const back = new URL(asked.get('redirect_uri') ?? '');
  back.searchParams.set('code', code);
  back.searchParams.set('state', asked.get('state') ?? '');
  response.writeHead(302, { location: back.href }).end();
}

function token(state: State, asked: URLSearchParams, json: (status: number, value: object) => void): void {
  const grant = asked.get('grant_type') ?? '';
  state.grants.push(grant);
  if (!(grant === 'refresh_token' ? isKnownRefresh(state, asked) : isKnownCode(state, asked))) {
    return json(400, { error: 'invalid_grant' });
  }
  const tokens = { access_token: `access-${randomUUID()}`, refresh_token: `refresh-${randomUUID()}` };
  state.accessTokens.add(tokens.access_token);
  state.refreshTokens.add(tokens.refresh_token);
  return json(200, { ...tokens, token_type: 'Bearer', expires_in: 3600 });
}

/** Each refresh token works once. */
function isKnownRefresh(state: State, asked: URLSearchParams): boolean {
  return state.refreshTokens.delete(asked.get('refresh_token') ?? '');
}

function isKnownCode(state: State, asked: URLSearchParams): boolean {
  const challenge = state.challenges.get(asked.get('code') ?? '');
  const verifier = createHash('sha256')
    .update(asked.get('code_verifier') ?? '')
    .digest('base64url');
  return challenge !== undefined && challenge === verifier;
}

async function proxy(
  state: State,
  { request, response, body }: { request: IncomingMessage; response: ServerResponse; body: string },
): Promise<void> {
  const bearer = request.headers.authorization?.replace('Bearer ', '') ?? '';
  if (!state.accessTokens.has(bearer)) {
    const where = `${state.origin}/.well-known/oauth-protected-resource/mcp`;
    response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${where}"` }).end();
    return;
  }
  // A standing stream would outlive the test; a server may refuse it.
  if (request.method === 'GET') return void response.writeHead(405).end();
  const headers = new Headers();
  for (const name of ['authorization', 'content-type', 'accept', 'mcp-session-id', 'mcp-protocol-version']) {
    const value = request.headers[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  const reply = await fetch(state.target, { method: request.method, headers, body: body === '' ? undefined : body });
  const kept = ['content-type', 'mcp-session-id'].flatMap((name) => {
    const value = reply.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  response.writeHead(reply.status, Object.fromEntries(kept)).end(await reply.text());
}
