import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

import { RuntimeError } from '../errors/runtime-error';

/** Encrypts texts for one owner. What was sealed for one owner cannot be opened as another's. */
export interface Sealer {
  /** Names the key that `seal` uses; the second part of a sealed text. */
  readonly keyId: string;
  /** All keys, for people. */
  readonly keyIds: string;
  readonly seal: (text: string, owner: string) => string;
  /** Throws VAULT_KEY_WRONG when the text was sealed with none of the keys, for another owner, or was changed. */
  readonly open: (sealed: string, owner: string) => string;
  /** 32 bytes for another purpose, from the first key: they tell nothing of the key itself. */
  readonly deriveKey: (purpose: string) => Buffer;
}

interface VaultKey {
  readonly id: string;
  readonly secret: Buffer;
}

const ALGORITHM = 'aes-256-gcm';
const VERSION = 'v1';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * `keys` is one key of 32 bytes as base64 or base64url, or several with commas between: the first one seals, all of
 * them open. Throws VAULT_KEY_INVALID.
 */
export function createSealer(keys: string): Sealer {
  const [first, ...others] = keys.split(',').map(readKey) as [VaultKey, ...VaultKey[]];
  const all = [first, ...others];
  const keyIds = all.map(({ id }) => id).join(', ');
  return {
    keyId: first.id,
    keyIds,
    seal: (text, owner) => seal(first, text, owner),
    open: (sealed, owner) => {
      const key = all.find(({ id }) => id === sealingKeyId(sealed));
      const text = key === undefined ? undefined : open(key, sealed, owner);
      if (text === undefined) throw new RuntimeError('VAULT_KEY_WRONG', { keyId: keyIds });
      return text;
    },
    deriveKey: (purpose) => Buffer.from(hkdfSync('sha256', first.secret, '', purpose, KEY_BYTES)),
  };
}

/** The id of the key that a text was sealed with, by its own account; undefined for what is no sealed text. */
export function sealingKeyId(sealed: string): string | undefined {
  const [version, keyId] = sealed.split('.');
  return version === VERSION ? keyId : undefined;
}

function readKey(text: string): VaultKey {
  const secret = decodeExactly(text.trim().replace(/=$/, '').replaceAll('+', '-').replaceAll('/', '_'));
  if (secret?.length !== KEY_BYTES) throw new RuntimeError('VAULT_KEY_INVALID');
  return { id: createHash('sha256').update(secret).digest('hex').slice(0, 8), secret };
}

/** Node skips what is no base64, so that many texts would stand for the same bytes; this takes one of them only. */
function decodeExactly(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

function seal({ id, secret }: VaultKey, text: string, owner: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, secret, iv).setAAD(Buffer.from(owner));
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return [VERSION, id, iv.toString('base64url'), body.toString('base64url')].join('.');
}

function open({ secret }: VaultKey, sealed: string, owner: string): string | undefined {
  const [, , ivText = '', bodyText = '', ...rest] = sealed.split('.');
  const iv = decodeExactly(ivText);
  const body = decodeExactly(bodyText);
  if (iv?.length !== IV_BYTES || body === undefined || rest.length > 0) return undefined;
  try {
    const decipher = createDecipheriv(ALGORITHM, secret, iv, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(owner))
      .setAuthTag(body.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
