import { RuntimeError } from '../../../errors/runtime-error';
import { parseExactly } from '../../../util/exact-integer';
import { isJsonObject, type JsonObject } from '../../../util/json';

/** Encrypts texts for one owner. `open` throws VAULT_KEY_WRONG. */
export interface TextSealer {
  readonly seal: (text: string, owner: string) => string;
  readonly open: (sealed: string, owner: string) => string;
}

/** Goes up with each change of what is stored here. */
const VERSION = 1;

/**
 * What a run goes on with, as JSON text with the version of its shape. A transcript must be kept as it is, since a call in
 * it is made as it was shown; so it cannot be redacted as results are. With a vault key it is encrypted.
 */
export interface SealedJson {
  readonly write: (value: object, owner: string) => string;
  /**
   * Throws VAULT_KEY_MISSING or VAULT_KEY_WRONG for what was sealed with a key that is not here, STORED_UNREADABLE for what
   * another version wrote.
   */
  readonly read: (text: string, owner: string) => JsonObject;
}

export function sealedJson(sealer: TextSealer | undefined): SealedJson {
  return {
    write: (value, owner) => {
      const text = JSON.stringify({ version: VERSION, ...value });
      return sealer === undefined ? text : JSON.stringify(sealer.seal(text, owner));
    },
    read: (text, owner) => {
      const kept: unknown = parseExactly(text);
      if (typeof kept !== 'string') return ofThisVersion(kept);
      if (sealer === undefined) throw new RuntimeError('VAULT_KEY_MISSING');
      return ofThisVersion(parseExactly(sealer.open(kept, owner)));
    },
  };
}

function ofThisVersion(kept: unknown): JsonObject {
  const { version, ...value }: JsonObject = isJsonObject(kept) ? kept : {};
  if (version === VERSION) return value;
  throw new RuntimeError('STORED_UNREADABLE', { version: JSON.stringify(version), known: VERSION });
}
