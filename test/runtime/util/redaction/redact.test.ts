import { createRedactor, redactJson } from '../../../../runtime/util/redaction/redact';
import { fc } from '../../../support/values/properties';

it('blanks a secret wherever it stands', () => {
  const redact = createRedactor(['s3cret-value']);
  expect(redact('a s3cret-value, s3cret-value!')).toBe('a [redacted], [redacted]!');
});

it('blanks the token without its scheme', () => {
  expect(createRedactor(['Bearer abcdef123'])('token abcdef123')).toBe('token [redacted]');
});

it.each([
  ['JSON', (secret: string) => JSON.stringify(secret)],
  ['JSON with escaped slashes', (secret: string) => JSON.stringify(secret).replaceAll('/', '\\/')],
  ['a URL', (secret: string) => encodeURIComponent(secret)],
])('blanks it as %s writes it', (_where, write) => {
  const secret = 'pass"word\\with/all&ümlaut';
  expect(createRedactor([secret])(`<${write(secret)}>`)).not.toMatch(/word|mlaut/);
});

it('blanks the longer of two secrets, of which one holds the other', () => {
  expect(createRedactor(['abcdef', 'abcdefgh'])('abcdefgh')).toBe('[redacted]');
});

it('leaves ordinary words alone: short values and missing ones are no secrets', () => {
  expect(createRedactor(['abc', '', undefined])('abc undefined')).toBe('abc undefined');
});

it('does not take a secret for a pattern', () => {
  expect(createRedactor(['.*.*.*', '$&$&$&'])('plain $&$&$&')).toBe('plain [redacted]');
});

it('cleans texts, keys and numbers of a value and leaves the rest as it is', () => {
  const redact = createRedactor(['s3cret-value', '12345678']);
  const value = { 's3cret-value': [true, null, 12345678, 5, { a: 'x s3cret-value' }] };
  expect(redactJson(value, redact)).toEqual({ '[redacted]': [true, null, '[redacted]', 5, { a: 'x [redacted]' }] });
});

describe('the parts of a compound secret', () => {
  const USER = 'billing-bot-1';
  const PASSWORD = 'p@ss "w/rd" ü1';
  const basic = Buffer.from(`${USER}:${PASSWORD}`).toString('base64');

  it.each([
    ['a header', `Basic ${basic}`],
    ['what stands behind the scheme', basic],
    ['a URL', `postgres://${USER}:${encodeURIComponent(PASSWORD)}@db.test/x`],
  ])('are blanked in every spelling, from %s', (_what, secret) => {
    const redact = createRedactor([secret]);
    const base64 = Buffer.from(PASSWORD).toString('base64');
    for (const text of [
      PASSWORD,
      USER,
      `${USER}:${PASSWORD}`,
      JSON.stringify(PASSWORD).slice(1, -1),
      JSON.stringify(PASSWORD).slice(1, -1).replaceAll('/', '\\/'),
      encodeURIComponent(PASSWORD),
      encodeURIComponent(PASSWORD).toLowerCase(),
      new URLSearchParams({ p: PASSWORD }).toString().slice(2),
      base64,
      base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''),
    ]) {
      expect(redact(`it is ${text}, is it not`)).toMatch(/^it is (?:\[redacted\][:=]*)+, is it not$/);
    }
  });

  it.each([['admin'], ['customer'], ['integration']])('leave a user alone that is a word: %s', (user) => {
    const redact = createRedactor([`Basic ${Buffer.from(`${user}:secret-99`).toString('base64')}`]);
    expect(redact(`${user} has secret-99`)).toBe(`${user} has [redacted]`);
  });

  it.each([
    ['a line break', Buffer.from('admin:S3cretPass\n'), ['S3cretPass']],
    ['a user of two words', Buffer.from('Ann Miller:S3cretPass'), ['S3cretPass', 'Ann Miller:S3cretPass']],
    ['an apostrophe', Buffer.from("o'brien:S3cretPass"), ['S3cretPass']],
    ['a bracket', Buffer.from('svc[eu]:S3cretPass'), ['S3cretPass']],
    ['Latin-1', Buffer.from('admin:Pässwort-ü1', 'latin1'), ['Pässwort-ü1']],
  ])('are taken apart from a Basic header with %s in it', (_what, bytes, parts) => {
    for (const scheme of ['Basic', 'basic']) {
      const redact = createRedactor([`${scheme} ${bytes.toString('base64')}`]);
      for (const part of parts) expect(redact(`it is ${part}, is it not`)).toBe('it is [redacted], is it not');
    }
  });

  it('blank the user where it is the key, without a password', () => {
    const redact = createRedactor([`Basic ${Buffer.from('keyofours:').toString('base64')}`]);
    expect(redact('keyofours')).toBe('[redacted]');
  });

  it.each([
    [Buffer.from('{"type":"service_account"}').toString('base64'), '{"type":1}'],
    ['Basic abc:def', 'abc and def'],
    ['https://example.com/path', 'example.com'],
  ])('are not made of what only looks like one: %s', (secret, text) =>
    expect(createRedactor([secret])(text)).toBe(text),
  );
});

it('blanks the longest of several secrets at one place, and all that follow', () => {
  const redact = createRedactor(['secret', 'secret-long', 'other-secret']);
  expect(redact('a secret-longsecret, other-secretother-secret')).toBe('a [redacted][redacted], [redacted][redacted]');
});

it('finds what a search for each secret finds (property)', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 6, maxLength: 9 });
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' '), maxLength: 60 });
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), fc.array(fc.oneof(word, text)), (secrets, parts) => {
      const given = parts.join('');
      const left = createRedactor(secrets)(given);
      expect(secrets.some((secret) => left.includes(secret))).toBe(false);
      expect(left === given).toBe(!secrets.some((secret) => given.includes(secret)));
    }),
  );
});
