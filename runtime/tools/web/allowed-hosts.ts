import { hostOf } from '../../util/egress';

/** Tells whether a host, as a parsed URL writes it, is one that the operator named. */
export type AllowsHost = (host: string) => boolean;

/**
 * Entries are hosts or addresses, compared as a URL would write them; `*.example.com` stands for every host below it.
 * Throws an Error for an entry that is none of these.
 */
export function readAllowedHosts(entries: readonly string[], where = 'custom_config.allowed_hosts'): AllowsHost {
  const exact = new Set<string>();
  const endings: string[] = [];
  for (const entry of entries) {
    const host = readHost(entry.startsWith('*.') ? entry.slice(2) : entry);
    if (host === undefined) throw new Error(`${where} holds ${JSON.stringify(entry)}, which is no host`);
    if (entry.startsWith('*.')) endings.push(`.${host}`);
    else exact.add(host);
  }
  return (host) => exact.has(host) || endings.some((ending) => host.length > ending.length && host.endsWith(ending));
}

function readHost(text: string): string | undefined {
  const isAddress6 = text.includes(':') && !text.startsWith('[');
  const url = URL.parse(`http://${isAddress6 ? `[${text}]` : text}/`);
  const isHost = url !== null && !/[/?#@\\*\s]/.test(text) && url.port === '' && url.hostname !== '';
  return isHost ? plainHost(url) : undefined;
}

/** The host without the brackets of IPv6 and without the dot that may end a name. */
export function plainHost(url: URL): string {
  return hostOf(url).replace(/\.$/, '');
}
