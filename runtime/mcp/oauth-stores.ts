import type { McpStore } from '../contracts/mcp';
import { RuntimeError } from '../errors/runtime-error';
import type { McpTarget } from './connection';
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
  return ({ tenantId, server: { id: serverId } }) => {
    if (store === undefined || serverId === undefined) return memoryStore();
    const owner = `${tenantId}/${serverId}`;
    const needSealer = (): StateSealer => {
      if (sealer === undefined) throw new RuntimeError('VAULT_KEY_MISSING');
      return sealer;
    };
    return {
      load: async () => {
        const sealed = await store.loadOAuth({ tenantId, serverId });
        return sealed === undefined ? EMPTY_OAUTH_STATE : (JSON.parse(needSealer().open(sealed, owner)) as OAuthState);
      },
      save: async (state) => {
        await store.saveOAuth({ tenantId, serverId, state: needSealer().seal(JSON.stringify(state), owner) });
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
      return Promise.resolve();
    },
  };
}
