import type { McpStore } from '../../contracts/tools/mcp';
import { RuntimeError } from '../../errors/runtime-error';
import type { McpTarget } from '../connection';
import { EMPTY_OAUTH_STATE, type OAuthState, type OAuthStateStore } from './oauth-provider';

/** Makes the OAuth state unreadable for everybody but its owner. */
export interface StateSealer {
  readonly seal: (text: string, owner: string) => string;
  readonly open: (sealed: string, owner: string) => string;
}

/** Keeps the tokens of registered servers in the database, sealed; those of other servers as long as they are used. */
export function createOAuthStores(
  store: McpStore | undefined,
  sealer: StateSealer | undefined,
): (target: McpTarget) => OAuthStateStore {
  const needSealer = (): StateSealer => {
    if (sealer === undefined) throw new RuntimeError('VAULT_KEY_MISSING');
    return sealer;
  };
  return ({ tenantId, server: { id: serverId, url } }) => {
    if (store === undefined || serverId === undefined) return memoryStore();
    const key = { tenantId, serverId };
    const owner = `${tenantId}/${serverId}`;
    const origin = URL.parse(url)?.origin ?? url;
    let loaded: string | undefined;
    return {
      load: async () => {
        loaded = await store.loadOAuth(key);
        if (loaded === undefined) return EMPTY_OAUTH_STATE;
        const kept = JSON.parse(needSealer().open(loaded, owner)) as OAuthState & { readonly origin: string };
        // Tokens of the address that the row had before are none of this one's.
        return kept.origin === origin ? kept : EMPTY_OAUTH_STATE;
      },
      save: async (state) => {
        const sealed = needSealer().seal(JSON.stringify({ ...state, origin }), owner);
        const isSaved = await store.saveOAuth({ ...key, state: sealed, loaded });
        if (isSaved) loaded = sealed;
        return isSaved;
      },
    };
  };
}

function memoryStore(): OAuthStateStore {
  let known = EMPTY_OAUTH_STATE;
  return {
    load: () => Promise.resolve(known),
    save: (state) => {
      known = state;
      return Promise.resolve(true);
    },
  };
}
