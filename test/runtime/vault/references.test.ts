import type { JsonValue } from '../../../runtime/util/json';
import { readReference, resolveJson, SecretFailure } from '../../../runtime/vault/references';

it.each([
  ['vault:CRM', 'vault', '', 'CRM'],
  ['Bearer vault:CRM.token-1', 'vault', 'Bearer ', 'CRM.token-1'],
  ['  Vault:CRM ', 'vault', '', 'CRM'],
  ['Basic  vault: CRM', 'vault', 'Basic  ', 'CRM'],
  ['channel:telegram.bot_token', 'channel', '', 'telegram.bot_token'],
  ['Bearer channel:whatsapp.a.b', 'channel', 'Bearer ', 'whatsapp.a.b'],
  // No name, but meant as one: never sent as it is.
  ['vault:my secret', 'vault', '', 'my secret'],
  ['vault:', 'vault', '', ''],
])('%j is a reference', (text, ...parts) => {
  const [kind, scheme, name] = parts;
  expect(readReference(text)).toEqual({ kind, scheme, name });
});

it.each(['', 'Bearer abc', 'https://x/vault:CRM', 'Password vault: ask the office', 'channel:general', 'a vaulted: b'])(
  '%j is none',
  (text) => {
    expect(readReference(text)).toBeUndefined();
  },
);

const resolve = ({ name }: { readonly name: string }): string => `<${name}>`;

it('puts secrets in the place of their names, however deep they stand', () => {
  const value = { a: 'vault:A', b: [{ c: 'Bearer vault:B' }, 'plain', 1, null], d: true };
  expect(resolveJson(value, resolve)).toEqual({ a: '<A>', b: [{ c: 'Bearer <B>' }, 'plain', 1, null], d: true });
});

it('gives a value that names nothing back itself', () => {
  const value = { a: ['x', { b: 'y' }] };
  expect(resolveJson(value, resolve)).toBe(value);
});

it('refuses a value that is too deep to be looked through', () => {
  let value: JsonValue = 'vault:A';
  for (let level = 0; level < 100_000; level++) value = [value];
  expect(() => resolveJson(value, resolve)).toThrow(SecretFailure);
});
