/** The entries of those who did not know which installation they belong to, as none did in older versions. */
export const SHARED_OUTBOX = 'elo:agent:outbox';
/** Where older versions put entries aside. */
export const SHARED_REFUSED = 'elo:agent:outbox:refused';
/** A set of the installations that have kept something. */
export const OUTBOX_INSTALLATIONS = 'elo:agent:outbox:installations';

/** A hash of id -> since when an entry on one of the lists waits, and whose it is. */
export const KEPT_SINCE = 'elo:agent:outbox:since';

/** A list of what waits. */
export function outboxKey(installation: string): string {
  return `${SHARED_OUTBOX}:${installation}`;
}

/** A hash of id -> what the ledger refuses although it is there. */
export function refusedKey(installation: string): string {
  return `${outboxKey(installation)}:refused`;
}
