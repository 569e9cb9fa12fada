import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

import { RuntimeError } from '../errors/runtime-error';

/** Encrypts texts for one owner. What was sealed for one owner cannot be opened as another's. */
export interface Sealer {
  readonly seal: (text: string, owner: string) => string;
  /** Throws VAULT_KEY_WRONG when the text was sealed with another key, for another owner, or was changed. */
  readonly open: (sealed: string, owner: string) => string;
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** `key` is 32 bytes as base64. Throws VAULT_KEY_INVALID. */
export function createSealer(key: string): Sealer {
  const secret = Buffer.from(key, 'base64');
  if (secret.length !== KEY_BYTES) throw new RuntimeError('VAULT_KEY_INVALID');
  const keyId = createHash('sha256').update(secret).digest('hex').slice(0, 8);
  return {
    seal: (text, owner) => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, secret, iv).setAAD(Buffer.from(owner));
      const bytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return ['v1', keyId, iv.toString('base64url'), bytes.toString('base64url')].join('.');
    },
    open: (sealed, owner) => {
      const [version, sealedWith, iv = '', body = ''] = sealed.split('.');
      if (version !== 'v1' || sealedWith !== keyId) throw new RuntimeError('VAULT_KEY_WRONG', { keyId });
      const bytes = Buffer.from(body, 'base64url');
      try {
        const decipher = createDecipheriv(ALGORITHM, secret, Buffer.from(iv, 'base64url'), { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(owner))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
      } catch {
        throw new RuntimeError('VAULT_KEY_WRONG', { keyId });
      }
    },
  };
}
