import { hostOf } from '../../util/egress';

/** Tells whether a host, as a parsed URL writes it, is one that the operator named. */
export type AllowsHost = (host: string) => boolean;

/**
 * Entries are hosts or addresses, compared as a URL would write them; `*.example.com` stands for every host below it.
 * Throws an Error for an entry that is none of these.
 */
export function readAllowedHosts(entries: readonly string[]): AllowsHost {
  const exact = new Set<string>();
  const endings: string[] = [];
  for (const entry of entries) {
    if (entry.startsWith('*.')) endings.push(`.${readHost(entry.slice(2), entry)}`);
    else exact.add(readHost(entry, entry));
  }
  return (host) => exact.has(host) || endings.some((ending) => host.length > ending.length && host.endsWith(ending));
}

function readHost(text: string, entry: string): string {
  const isAddress6 = text.includes(':') && !text.startsWith('[');
  const url = URL.parse(`http://${isAddress6 ? `[${text}]` : text}/`);
  const isHost = url !== null && !/[/?#@\\*\s]/.test(text) && url.port === '' && url.hostname !== '';
  if (!isHost) throw new Error(`custom_config.allowed_hosts holds ${JSON.stringify(entry)}, which is no host`);
  return plainHost(url);
}

/** The host without the brackets of IPv6 and without the dot that may end a name. */
export function plainHost(url: URL): string {
  return hostOf(url).replace(/\.$/, '');
}
