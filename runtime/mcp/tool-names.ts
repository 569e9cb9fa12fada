import { createHash } from 'node:crypto';

/** What providers accept as a tool's name. */
const MAX_NAME = 64;
const HASH_LENGTH = 8;

export interface ServerToolName {
  readonly server: string;
  readonly tool: string;
  /** What keeps two servers of one name apart: an id or an address. */
  readonly place?: string;
}

/** How people write a server's tool in lists and settings. */
export function qualifiedName({ server, tool }: ServerToolName): string {
  return `${server}.${tool}`;
}

/**
 * A name that providers accept for each tool, in the order given, none of them in `taken`. Where two would be the
 * same, both get a part of their hash, so that a name does not depend on which tools stand beside it in the list.
 */
export function offeredNames(tools: readonly ServerToolName[], taken: ReadonlySet<string>): readonly string[] {
  const plain = tools.map(plainName);
  const count = new Map<string, number>();
  for (const name of plain) count.set(name, (count.get(name) ?? 0) + 1);
  return tools.map((tool, index) => {
    const name = plain[index] as string;
    return count.get(name) === 1 && !taken.has(name) && name.length <= MAX_NAME ? name : hashedName(tool, name);
  });
}

function plainName({ server, tool }: ServerToolName): string {
  return `${server}_${tool}`.replace(/[^a-zA-Z0-9_-]/gu, '_');
}

function hashedName(tool: ServerToolName, plain: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([tool.server, tool.tool, tool.place]))
    .digest('hex')
    .slice(0, HASH_LENGTH);
  return `${plain.slice(0, MAX_NAME - HASH_LENGTH - 1)}_${hash}`;
}
