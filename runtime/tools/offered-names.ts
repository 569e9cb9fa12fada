import { createHash } from 'node:crypto';

import type { JsonValue } from '../util/json';

/** What providers accept as a tool's name. */
const MAX_NAME = 64;
const HASH_LENGTH = 8;

interface WantedName {
  /** Any text. */
  readonly name: string;
  /** What keeps two tools apart that want the same name. */
  readonly identity: JsonValue;
}

/** The name with an underscore for each character that providers refuse. */
export function plainName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/gu, '_');
}

/**
 * A name that providers accept for each tool, in the order given, none of them in `taken`. Where two would be the
 * same, both get a part of their hash, so that a name does not depend on which tools stand beside it in the list.
 */
export function offeredNames(tools: readonly WantedName[], taken: ReadonlySet<string>): readonly string[] {
  const plain = tools.map(({ name }) => plainName(name));
  const count = new Map<string, number>();
  for (const name of plain) count.set(name, (count.get(name) ?? 0) + 1);
  return tools.map((tool, index) => {
    const name = plain[index] as string;
    const isFree = count.get(name) === 1 && !taken.has(name);
    return isFree && name !== '' && name.length <= MAX_NAME ? name : hashedName(tool, name);
  });
}

function hashedName({ identity }: WantedName, plain: string): string {
  const hash = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, HASH_LENGTH);
  return `${plain.slice(0, MAX_NAME - HASH_LENGTH - 1)}_${hash}`;
}
