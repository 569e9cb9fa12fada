import {
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  type DpopKeyPair,
  DpopSession,
  generateDpopKeyPair,
  type OAuthClientProvider,
  PrivateKeyJwtProvider,
  requestJwtAuthorizationGrant,
} from '@modelcontextprotocol/client';

import type { McpOAuth, McpServer } from '../../contracts/tools/mcp';
import type { JsonObject } from '../../util/json';
import type { ConnectRequest } from '../connection';
import type { Fetch } from '../http-fetch';
import { OAuthProvider } from '../oauth/oauth-provider';
import { credentialSecrets } from '../server-errors';

/** What proves to a server who the tenant is, where that takes OAuth. */
export function authProvider({ server, oauthStore, login, fetch }: ConnectRequest): OAuthClientProvider | undefined {
  const { auth } = server;
  if (auth.kind !== 'oauth') return undefined;
  if (auth.grant === 'client_credentials') return clientProvider(auth);
  if (auth.grant === 'cross_app_access') return crossAppProvider(auth, fetch);
  const provider = new OAuthProvider(auth, oauthStore, login);
  return auth.usesDpop ? withDpop(provider) : provider;
}

/**
 * A provider for the client's credentials. Without an issuer the SDK would send the secret anywhere; our `fetch` keeps
 * it on the server's own host then.
 */
function clientProvider({ clientId = '', clientSecret = '', scope, ...auth }: McpOAuth): OAuthClientProvider {
  const shared = { clientId, scope, ...(auth.issuer === undefined ? {} : { expectedIssuer: auth.issuer }) };
  return auth.privateKey === undefined
    ? new ClientCredentialsProvider({ ...shared, clientSecret })
    : new PrivateKeyJwtProvider({ ...shared, privateKey: auth.privateKey, algorithm: auth.algorithm ?? 'ES256' });
}

/** The identity provider vouches for the tenant; see the extension "enterprise-managed authorization". */
function crossAppProvider(
  { clientId = '', clientSecret = '', issuer, idp }: McpOAuth,
  fetch: Fetch,
): OAuthClientProvider {
  return new CrossAppAccessProvider({
    clientId,
    clientSecret,
    fetchFn: fetch,
    ...(issuer === undefined ? {} : { expectedIssuer: issuer }),
    assertion: async ({ authorizationServerUrl, resourceUrl, scope }) => {
      if (idp === undefined) throw new Error('cross_app_access needs an identity provider');
      const grant = await requestJwtAuthorizationGrant({
        tokenEndpoint: idp.tokenUrl,
        audience: authorizationServerUrl,
        resource: resourceUrl,
        idToken: idp.idToken,
        clientId: idp.clientId,
        scope,
        fetchFn: fetch,
      });
      return grant.jwtAuthGrant;
    },
  });
}

/** Binds the tokens to a key (RFC 9449), so that a stolen token is of no use. The key is kept with them. */
function withDpop(provider: OAuthProvider): OAuthClientProvider {
  let session: Promise<DpopSession> | undefined;
  const open = async (): Promise<DpopSession> => {
    const stored = await provider.dpopKey();
    if (stored !== undefined) return DpopSession.create({ keyPair: await importKey(stored) });
    const keyPair = await generateDpopKeyPair({ extractable: true });
    await provider.saveDpopKey(await exportKey(keyPair));
    return DpopSession.create({ keyPair });
  };
  return Object.assign(provider, { dpop: () => (session ??= open()) });
}

const DPOP_KEY = { name: 'ECDSA', namedCurve: 'P-256' } as const;

async function exportKey({ privateKey, publicJwk, thumbprint }: DpopKeyPair): Promise<JsonObject> {
  const jwk = await crypto.subtle.exportKey('jwk', privateKey);
  return JSON.parse(JSON.stringify({ privateJwk: jwk, publicJwk, thumbprint })) as JsonObject;
}

async function importKey(stored: JsonObject): Promise<DpopKeyPair> {
  const { privateJwk, publicJwk, thumbprint } = stored as unknown as DpopKeyPair & {
    privateJwk: DpopKeyPair['publicJwk'];
  };
  const [privateKey, publicKey] = await Promise.all([
    crypto.subtle.importKey('jwk', privateJwk, DPOP_KEY, true, ['sign']),
    crypto.subtle.importKey('jwk', publicJwk, DPOP_KEY, true, ['verify']),
  ]);
  return { privateKey, publicKey, publicJwk, thumbprint, alg: 'ES256' };
}

/** What requests carry and no answer may show. */
export function secretsOf(server: McpServer, provider: OAuthClientProvider | undefined): readonly string[] {
  const fixed = credentialSecrets(server.auth).filter((secret) => secret !== undefined);
  if (provider instanceof OAuthProvider) return [...fixed, ...provider.secrets()];
  return [...fixed, ...staticSecrets(provider)];
}

function staticSecrets(provider: OAuthClientProvider | undefined): readonly string[] {
  const tokens = provider?.tokens();
  return tokens === undefined || tokens instanceof Promise ? [] : [tokens.access_token];
}
