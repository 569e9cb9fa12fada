import { randomBytes } from 'node:crypto';

import { createSealer } from '../../runtime/vault/sealer';
import { withCode } from '../support/matchers';

const aKey = (): string => randomBytes(32).toString('base64');
const wrong = withCode('VAULT_KEY_WRONG');

it('opens what it sealed, and shows nothing of it', () => {
  const sealer = createSealer(aKey());
  const sealed = sealer.seal('a secret', 'tenant/1');
  expect(sealed).not.toContain('a secret');
  expect(sealer.open(sealed, 'tenant/1')).toBe('a secret');
});

it('never seals the same text the same way', () => {
  const sealer = createSealer(aKey());
  expect(sealer.seal('a', 'x')).not.toBe(sealer.seal('a', 'x'));
});

it('opens nothing for another owner, with another key, or after a change', () => {
  const sealer = createSealer(aKey());
  const sealed = sealer.seal('a secret', 'tenant/1');
  expect(() => sealer.open(sealed, 'tenant/2')).toThrow(wrong);
  expect(() => createSealer(aKey()).open(sealed, 'tenant/1')).toThrow(wrong);
  const changed = `${sealed.slice(0, -4)}AAAA`;
  expect(() => sealer.open(changed, 'tenant/1')).toThrow(wrong);
  expect(() => sealer.open('not sealed', 'tenant/1')).toThrow(wrong);
});

it.each(['', 'short', randomBytes(31).toString('base64'), 'x'.repeat(64)])('refuses %j as a key', (key) => {
  expect(() => createSealer(key)).toThrow(withCode('VAULT_KEY_INVALID'));
});
