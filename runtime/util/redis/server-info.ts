/** What INFO says, by name. */
export function readInfo(text: string): ReadonlyMap<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

/** The policy by which a full Redis throws keys away; undefined where it does not. */
export function evictionOf(info: ReadonlyMap<string, string>): string | undefined {
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  const isLimited = Number(info.get('maxmemory') ?? 0) > 0;
  return policy !== 'noeviction' && isLimited ? policy : undefined;
}
