/** What a secret may be called, so that a reference to it can be told from its surroundings. */
export const SECRET_NAME = /^[A-Za-z0-9._-]{1,100}$/;

/** Whose secret it is and what it is called: sealed with it, so that a row that is copied or renamed cannot be opened. */
export function secretOwner(tenantId: string | undefined, name: string): string {
  return `secret/${tenantId ?? 'shared'}/${name}`;
}
