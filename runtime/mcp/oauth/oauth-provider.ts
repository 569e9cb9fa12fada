import { randomBytes } from 'node:crypto';

import type { McpOAuth } from '../../contracts/tools/mcp';
import type { JsonObject } from '../../util/json';

/** What a login leaves behind, by the authorization server's issuer; kept from one run to the next. */
export interface OAuthState {
  /** Client ids that servers gave us, and the tokens, each with the issuer that it belongs to. */
  readonly clients: Readonly<Record<string, JsonObject>>;
  readonly tokens: Readonly<Record<string, JsonObject>>;
  /** Whose tokens are sent. */
  readonly issuer?: string;
  /** The key that the tokens are bound to. */
  readonly dpopKey?: JsonObject;
}

export const EMPTY_OAUTH_STATE: OAuthState = { clients: {}, tokens: {} };

export interface OAuthStateStore {
  readonly load: () => Promise<OAuthState>;
  /** False when another process wrote meanwhile; then nothing is written. */
  readonly save: (state: OAuthState) => Promise<boolean>;
}

/** Where the browser came back to: the query of the redirect URL. */
type AuthorizeInBrowser = (url: URL) => Promise<URLSearchParams>;

export interface BrowserLogin {
  readonly redirectUrl: string;
  readonly authorize: AuthorizeInBrowser;
}

/** Keyed by issuer; a server without metadata has none. */
const NO_ISSUER = '';
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const DEFAULT_REDIRECT = 'http://127.0.0.1:8976/callback';

interface IssuerContext {
  readonly issuer: string;
}

/**
 * The memory of one authorization-code client, in the shape that the SDK asks for. Without a browser login the need
 * for one ends the connection with an error; with one, `answer` gives what the browser came back with.
 */
export class OAuthProvider {
  readonly clientMetadataUrl: string | undefined;
  private known: OAuthState | undefined;
  private verifier = '';
  private discovery: unknown;
  private sentState = '';
  private answered: Promise<URLSearchParams> | undefined;

  constructor(
    private readonly settings: McpOAuth,
    private readonly store: OAuthStateStore,
    private readonly login: BrowserLogin | undefined,
  ) {
    this.clientMetadataUrl = settings.clientMetadataUrl;
  }

  /** Undefined where no person is asked. */
  get redirectUrl(): string | undefined {
    if (this.settings.grant === 'jwt_bearer') return undefined;
    return this.login?.redirectUrl ?? DEFAULT_REDIRECT;
  }

  get clientMetadata(): { client_name: string; redirect_uris: string[]; grant_types?: string[]; scope?: string } {
    const { scope } = this.settings;
    const { redirectUrl } = this;
    return {
      client_name: 'Universal AI Agent',
      redirect_uris: redirectUrl === undefined ? [] : [redirectUrl],
      ...(redirectUrl === undefined ? { grant_types: [JWT_BEARER] } : {}),
      ...(scope === undefined ? {} : { scope }),
    };
  }

  state(): string {
    return (this.sentState = randomBytes(16).toString('base64url'));
  }

  async clientInformation(context?: IssuerContext): Promise<{ client_id: string } | undefined> {
    const { clientId, clientSecret, issuer } = this.settings;
    if (clientId !== undefined) {
      return {
        client_id: clientId,
        ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
        ...(issuer === undefined ? {} : { issuer }),
      };
    }
    const { clients } = await this.current();
    return clients[context?.issuer ?? NO_ISSUER] as { client_id: string } | undefined;
  }

  async saveClientInformation(client: object, context?: IssuerContext): Promise<void> {
    const state = await this.current();
    await this.keep({ ...state, clients: { ...state.clients, [context?.issuer ?? NO_ISSUER]: { ...client } } });
  }

  /**
   * The tokens of an issuer; without one, those that requests carry. Tokens of one issuer are never shown to another.
   */
  async tokens(context?: IssuerContext): Promise<{ access_token: string; token_type: string } | undefined> {
    // Asked for an issuer's tokens the SDK is about to renew them: another process may have done so, or a new login.
    if (context !== undefined) this.known = await this.store.load();
    const state = await this.current();
    const issuer = context?.issuer ?? state.issuer ?? NO_ISSUER;
    const { issuer: only } = this.settings;
    if (only !== undefined && only !== issuer) return undefined;
    return state.tokens[issuer] as { access_token: string; token_type: string } | undefined;
  }

  async saveTokens(tokens: object, context?: IssuerContext): Promise<void> {
    const state = await this.current();
    const issuer = context?.issuer ?? NO_ISSUER;
    // The next login looks up the authorization server again: it may have changed.
    this.discovery = undefined;
    await this.keep({ ...state, issuer, tokens: { ...state.tokens, [issuer]: { ...tokens } } });
  }

  /** The token request of a workload that has a signed statement of who it is (RFC 7523); else the SDK's own way. */
  prepareTokenRequest(scope?: string): URLSearchParams | undefined {
    const { grant, assertion } = this.settings;
    if (grant !== 'jwt_bearer' || assertion === undefined) return undefined;
    return new URLSearchParams({ grant_type: JWT_BEARER, assertion, ...(scope === undefined ? {} : { scope }) });
  }

  async dpopKey(): Promise<JsonObject | undefined> {
    return (await this.current()).dpopKey;
  }

  async saveDpopKey(dpopKey: JsonObject): Promise<void> {
    await this.keep({ ...(await this.current()), dpopKey });
  }

  redirectToAuthorization(url: URL): void {
    this.answered = this.login?.authorize(url);
    // A failure is for whoever asks with `answer`.
    this.answered?.catch(() => undefined);
  }

  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier;
  }

  codeVerifier(): string {
    return this.verifier;
  }

  saveDiscoveryState(discovery: unknown): void {
    this.discovery = discovery;
  }

  discoveryState(): never {
    return this.discovery as never;
  }

  /**
   * Forgets what the authorization server refused. Another process may have refreshed the same tokens just before us,
   * which makes ours invalid: then its tokens are read, and used.
   */
  async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    if (scope === 'verifier') this.verifier = '';
    if (scope === 'discovery' || scope === 'all') this.discovery = undefined;
    if (scope === 'verifier' || scope === 'discovery') return;
    const refused = await this.current();
    const stored = await this.store.load();
    this.known = stored;
    if (scope === 'tokens' && JSON.stringify(stored.tokens) !== JSON.stringify(refused.tokens)) return;
    const clients = scope === 'tokens' ? stored.clients : {};
    const tokens = scope === 'client' ? stored.tokens : {};
    await this.keep({ ...stored, clients, tokens });
  }

  /** What the browser came back with; undefined when there is none. Throws when the answer is not to our question. */
  async answer(): Promise<URLSearchParams | undefined> {
    const answered = this.answered;
    this.answered = undefined;
    const params = await answered;
    const state = params?.get('state') ?? null;
    if (params !== undefined && state !== this.sentState) {
      throw new Error('the login came back with a state that is not ours');
    }
    return params;
  }

  /** Every secret that a request may carry; none of them may stand in an answer. */
  secrets(): readonly string[] {
    const tokens = Object.values(this.known?.tokens ?? {});
    return [this.settings.clientSecret, ...tokens.flatMap((token) => [token.access_token, token.refresh_token])].filter(
      (secret) => typeof secret === 'string',
    );
  }

  private async current(): Promise<OAuthState> {
    return (this.known ??= await this.store.load());
  }

  private async keep(state: OAuthState): Promise<void> {
    this.known = (await this.store.save(state)) ? state : await this.store.load();
  }
}
