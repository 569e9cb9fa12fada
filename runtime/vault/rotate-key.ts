import type { OAuthStateRow, SecretRow, VaultStore } from '../contracts/tools/vault';
import { describeError } from '../errors/runtime-error';
import { type Sealer, sealingKeyId } from './sealer';
import { secretOwner } from './secret-owner';

/** A sealed text, by what people call it. */
interface SealedPlace {
  readonly kind: 'secret' | 'oauth_state';
  /** Null: shared. */
  readonly tenant_id: string | null;
  readonly name: string;
}

export interface RotateReport {
  /** The key that everything is sealed with now. */
  readonly key_id: string;
  /** Sealed anew by this call. */
  readonly resealed: number;
  /** Sealed with this key before. */
  readonly current: number;
  readonly unreadable: readonly SealedPlace[];
  /** Written by others again and again while this went on. */
  readonly changed: readonly SealedPlace[];
  /** Told with what cannot be read. */
  readonly hint?: string;
}

interface Item {
  readonly place: SealedPlace;
  readonly sealed: string;
  readonly owner: string;
  readonly replace: (sealed: string) => Promise<boolean>;
}

type Outcome = 'resealed' | 'current' | 'unreadable' | 'changed';
type Sealed = Readonly<{ place: SealedPlace; outcome: Outcome }>;

export interface Rotation {
  readonly store: VaultStore;
  readonly sealer: Sealer;
  readonly onProgress: (progress: string) => void;
}

const MAX_ROUNDS = 5;
const PROGRESS_EVERY = 100;

/** Seals everything under the first key, row by row: after a crash it goes on where it was. */
export async function rotateVault(request: Rotation): Promise<RotateReport> {
  let resealed = 0;
  let current: number | undefined;
  for (let round = 1; ; round++) {
    const outcomes = await sealRound(request);
    const having = (outcome: Outcome): readonly SealedPlace[] =>
      outcomes.filter((one) => one.outcome === outcome).map(({ place }) => place);
    resealed += having('resealed').length;
    current ??= having('current').length;
    const changed = having('changed');
    // What others wrote meanwhile is read again.
    if (changed.length > 0 && round < MAX_ROUNDS) continue;
    const unreadable = having('unreadable');
    const { hint } = describeError('VAULT_KEY_WRONG');
    const told = unreadable.length === 0 ? {} : { hint };
    return { key_id: request.sealer.keyId, resealed, current, unreadable, changed, ...told };
  }
}

async function sealRound({ store, sealer, onProgress }: Rotation): Promise<readonly Sealed[]> {
  const secrets = (await store.allSecrets()).map((row) => secretItem(store, row));
  const states = (await store.allOAuthStates()).map((row) => oauthItem(store, row));
  const items = [...secrets, ...states];
  const outcomes: Sealed[] = [];
  for (const item of items) {
    outcomes.push({ place: item.place, outcome: await sealAnew(item, sealer) });
    const isTold = outcomes.length % PROGRESS_EVERY === 0 || outcomes.length === items.length;
    if (isTold) onProgress(`${outcomes.length} of ${items.length}`);
  }
  return outcomes;
}

async function sealAnew({ sealed, owner, replace }: Item, sealer: Sealer): Promise<Outcome> {
  const text = tryOpen(sealer, sealed, owner);
  if (text === undefined) return 'unreadable';
  if (sealingKeyId(sealed) === sealer.keyId) return 'current';
  return (await replace(sealer.seal(text, owner))) ? 'resealed' : 'changed';
}

function secretItem(store: VaultStore, row: SecretRow): Item {
  return {
    place: { kind: 'secret', tenant_id: row.tenant_id, name: row.name },
    sealed: row.sealed,
    owner: secretOwner(row.tenant_id ?? undefined, row.name),
    replace: (sealed) => store.reseal(row, sealed),
  };
}

function oauthItem(store: VaultStore, row: OAuthStateRow): Item {
  return {
    place: { kind: 'oauth_state', tenant_id: row.tenant_id, name: row.server },
    sealed: row.state,
    // As mcp/oauth/oauth-stores.ts names it.
    owner: `${row.tenant_id}/${row.server_id}`,
    replace: (state) => store.resealOAuth(row, state),
  };
}

/** Whether one of the present keys opens it. */
export function canOpen(sealer: Sealer, sealed: string, owner: string): boolean {
  return tryOpen(sealer, sealed, owner) !== undefined;
}

/** Undefined for what cannot be opened. */
export function tryOpen(sealer: Sealer, sealed: string, owner: string): string | undefined {
  try {
    return sealer.open(sealed, owner);
  } catch {
    return undefined;
  }
}
