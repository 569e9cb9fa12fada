import { createRedactor, redactJson } from '../../../runtime/util/redact';

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
