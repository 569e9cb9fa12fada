import type { ConfigInput, RuntimeConfig } from '../../../runtime/config/runtime-config';

/** Every key there, nothing read-only: what is left is names and types. */
type Plain<T> = T extends readonly (infer Item)[]
  ? Plain<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]-?: Plain<Exclude<T[Key], undefined>> }
    : T;
type Optional<T> = { [Key in keyof T]: object extends Pick<T, Key & keyof T> ? Key : never }[keyof T];
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

// These do not compile where the two differ.
const sameKeys: Same<Plain<ConfigInput>, Plain<Omit<RuntimeConfig, 'plugins' | 'logger'>>> = true;
const sameOptional: Same<Optional<ConfigInput>, Exclude<Optional<RuntimeConfig>, 'plugins' | 'logger'>> = true;

it('the documented configuration is the one that is read', () => {
  expect([sameKeys, sameOptional]).toEqual([true, true]);
});
