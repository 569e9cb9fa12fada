import { randomBytes } from 'node:crypto';

import { testVaultKey } from '../../../nodes/UniversalAiAgent/panel/test-vault-key';
import { createSealer } from '../../../runtime/vault/sealer';
import { secretOwner } from '../../../runtime/vault/secret-owner';
import { withCode } from '../../support/setup/matchers';
import { fc } from '../../support/values/properties';

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
  for (const text of ['', 'not sealed', `${sealed}.`, `${sealed}.x`, `v2${sealed.slice(2)}`]) {
    expect(() => sealer.open(text, 'tenant/1')).toThrow(wrong);
  }
});

it('opens any text that it sealed, of any owner', () => {
  const sealer = createSealer(aKey());
  const text = fc.string({ unit: 'grapheme' });
  fc.assert(
    fc.property(text, text, (secret, owner) => {
      expect(sealer.open(sealer.seal(secret, owner), owner)).toBe(secret);
    }),
  );
});

it('never opens for one tenant what it sealed for another, nor under another name', () => {
  const sealer = createSealer(aKey());
  const tenant = fc.option(fc.uuid(), { nil: undefined });
  const name = fc.stringMatching(/^[A-Za-z0-9._-]{1,100}$/);
  fc.assert(
    fc.property(fc.tuple(tenant, name), fc.tuple(tenant, name), (one, other) => {
      fc.pre(one[0] !== other[0] || one[1] !== other[1]);
      const sealed = sealer.seal('a secret', secretOwner(...one));
      expect(() => sealer.open(sealed, secretOwner(...other))).toThrow(wrong);
    }),
  );
});

it('refuses a sealed text with any character changed, left out or added', () => {
  const sealer = createSealer(aKey());
  const character = fc.constantFrom(...'ABCabc019-_=.+/ '.split(''));
  const change = fc.record({ at: fc.nat(), inserted: character, removed: fc.constantFrom(0, 1) });
  fc.assert(
    fc.property(fc.string(), change, (secret, { at, inserted, removed }) => {
      const sealed = sealer.seal(secret, 'x');
      const index = at % sealed.length;
      const changed = sealed.slice(0, index) + inserted + sealed.slice(index + removed);
      fc.pre(changed !== sealed);
      expect(() => sealer.open(changed, 'x')).toThrow(wrong);
      expect(() => sealer.open(sealed.slice(0, index) + sealed.slice(index + 1), 'x')).toThrow(wrong);
    }),
    { numRuns: 1000 },
  );
});

it('refuses a sealed text with any byte changed, also the bits that base64 has to spare', () => {
  const sealer = createSealer(aKey());
  for (const secret of ['', 'a', 'ab', 'abc', 'abcd']) {
    const sealed = sealer.seal(secret, 'x');
    for (let index = 0; index < sealed.length; index++) {
      for (const bit of [1, 2, 4, 8, 16, 32, 64]) {
        const flipped = String.fromCharCode(sealed.charCodeAt(index) ^ bit);
        expect(() => sealer.open(sealed.slice(0, index) + flipped + sealed.slice(index + 1), 'x')).toThrow(wrong);
      }
    }
  }
});

describe('several keys', () => {
  const [old, fresh] = [aKey(), aKey()];

  it('all open, and the first one seals', () => {
    const sealedBefore = createSealer(old).seal('a secret', 'x');
    const both = createSealer(`${fresh}, ${old}`);
    expect(both.open(sealedBefore, 'x')).toBe('a secret');
    const sealedNow = both.seal('another', 'x');
    expect(createSealer(fresh).open(sealedNow, 'x')).toBe('another');
    expect(() => createSealer(old).open(sealedNow, 'x')).toThrow(wrong);
    expect(both.keyId).toBe(createSealer(fresh).keyId);
  });

  it('are all named when none of them opens', () => {
    const sealed = createSealer(aKey()).seal('a secret', 'x');
    const both = createSealer(`${fresh},${old}`);
    expect(() => both.open(sealed, 'x')).toThrow(`${both.keyId}, ${createSealer(old).keyId}`);
  });

  it('are refused when one of them is no key', () => {
    for (const keys of [`${fresh},`, `${fresh},${old}x`, `${fresh},short`, ',', `${fresh} ${old}`]) {
      expect(() => createSealer(keys)).toThrow(withCode('VAULT_KEY_INVALID'));
    }
  });
});

const NO_KEYS: readonly [string, string][] = [
  ['nothing', ''],
  ['a word', 'short'],
  ['31 bytes', randomBytes(31).toString('base64')],
  ['33 bytes', randomBytes(33).toString('base64')],
  ['64 characters', 'x'.repeat(64)],
  ['a key with what Node would skip', `${aKey().slice(0, 20)}!!${aKey().slice(20)}`],
  ['a key with a line in it', `${aKey().slice(0, 20)}\n${aKey().slice(20)}`],
  ['43 characters that no 32 bytes give', `${'A'.repeat(42)}B`],
  ['32 bytes as hex', randomBytes(32).toString('hex')],
];

it.each(NO_KEYS)('refuses %s as a key', (_what, key) => {
  expect(() => createSealer(key)).toThrow(withCode('VAULT_KEY_INVALID'));
});

it('takes a key as base64 and as base64url, with or without its end, as the same key', () => {
  const bytes = Buffer.alloc(32, 0xfb);
  const forms = [bytes.toString('base64'), bytes.toString('base64url'), `${bytes.toString('base64')}\n`];
  expect(new Set(forms.map((form) => createSealer(form).keyId)).size).toBe(1);
});

describe('the test button of n8n', () => {
  const press = (secretKey: unknown): Promise<{ status: string }> =>
    testVaultKey.call({} as never, { data: { secretKey } } as never);

  it('takes what the runtime takes', async () => {
    for (const key of [aKey(), randomBytes(32).toString('base64url'), `${aKey()}, ${aKey()}`]) {
      expect(await press(key)).toMatchObject({ status: 'OK' });
    }
  });

  it.each(NO_KEYS)('refuses %s', async (_what, key) => {
    expect(await press(key)).toMatchObject({ status: 'Error' });
    expect(await press(`${aKey()},${key}`)).toMatchObject({ status: 'Error' });
  });
});
