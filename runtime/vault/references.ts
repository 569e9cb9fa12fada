import type { RuntimeError } from '../errors/runtime-error';
import { isJsonObject, isList, type JsonObject, type JsonValue, MAX_JSON_DEPTH } from '../util/json';

/** Where a text says that a secret is to stand: `vault:NAME`, `Bearer vault:NAME` or `channel:CODE.KEY`. */
export interface SecretReference {
  readonly kind: 'vault' | 'channel';
  /** The scheme with the blank after it; empty where the reference is all of the text. */
  readonly scheme: string;
  /** What stands after the colon. It may be no valid name. */
  readonly name: string;
}

// Prose such as "Password vault: ask the office" is none, nor is "channel:general", which may well be an argument.
const WHOLE = /^\s*vault:(?<name>.*)$/is;
const WITH_SCHEME = /^\s*(?<scheme>[\w!#$%&'*+.^`|~-]+[ \t]+)vault:\s*(?<name>\S*)\s*$/i;
const CHANNEL = /^\s*(?<scheme>[\w!#$%&'*+.^`|~-]+[ \t]+)?channel:\s*(?<name>[\w-]+\.\S*)\s*$/i;

/** The reference that a whole text is. What only looks like one is one too, so that it is never sent as a password. */
export function readReference(text: string): SecretReference | undefined {
  const vault = (WHOLE.exec(text) ?? WITH_SCHEME.exec(text))?.groups;
  if (vault !== undefined) return { kind: 'vault', scheme: vault.scheme ?? '', name: (vault.name ?? '').trim() };
  const channel = CHANNEL.exec(text)?.groups;
  return channel && { kind: 'channel', scheme: channel.scheme ?? '', name: channel.name ?? '' };
}

/** Why a secret cannot replace its name. The message is for people, and holds no value. */
export class SecretFailure extends Error {
  override readonly name = 'SecretFailure';

  constructor(
    message: string,
    /** What the vault itself says; undefined where the text is to blame. */
    readonly ofVault?: RuntimeError,
  ) {
    super(message);
  }
}

export type Resolve = (reference: SecretReference) => string;

/** The text with the secret instead of its name. A text that names none is given back as it is. */
export function resolveText(text: string, resolve: Resolve): string {
  const reference = readReference(text);
  return reference === undefined ? text : reference.scheme + resolve(reference);
}

/** The same for every text within a value. Where nothing is named, the value itself comes back. */
export function resolveJson(value: JsonValue, resolve: Resolve, depth = MAX_JSON_DEPTH): JsonValue {
  if (typeof value === 'string') return resolveText(value, resolve);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) throw new SecretFailure(`its settings are nested deeper than ${MAX_JSON_DEPTH} levels`);
  if (isJsonObject(value)) return resolveObject(value, resolve, depth);
  if (!isList(value)) return value;
  const items = value.map((item) => resolveJson(item, resolve, depth - 1));
  return items.every((item, index) => item === value[index]) ? value : items;
}

/** The same for an object. */
export function resolveObject(value: JsonObject, resolve: Resolve, depth = MAX_JSON_DEPTH): JsonObject {
  const entries = Object.entries(value).map(([key, inner]) => [key, resolveJson(inner, resolve, depth - 1)] as const);
  return entries.every(([key, inner]) => inner === value[key]) ? value : Object.fromEntries(entries);
}
