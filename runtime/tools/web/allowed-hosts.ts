import { hostOf } from '../../util/egress';

/**
 * Tells whether a host, as a parsed URL writes it, is one that the operator named. With the whole URL, whether it is
 * named with that scheme and port; without, whether it is named at all.
 */
export type AllowsHost = (host: string, url?: URL) => boolean;

export interface AllowedHosts {
  readonly allowsHost: AllowsHost;
  /** Whether the operator's own credentials may go there: to the scheme and port that an entry names, else to https on its own port. */
  readonly trusts: (url: URL) => boolean;
}

interface Entry {
  readonly isOf: (host: string) => boolean;
  /** Undefined where the entry is a mere host: that stands for any scheme and port. */
  readonly origin?: URL;
}

/**
 * Entries are hosts or addresses, compared as a URL would write them; `*.example.com` stands for every host below it. With a
 * scheme, as in `http://api-internal:8080`, an entry stands for that scheme and port alone. Throws an Error for an entry that is none of these.
 */
export function readAllowedHosts(entries: readonly string[], where = 'custom_config.allowed_hosts'): AllowedHosts {
  const all = entries.map((entry) => readEntry(entry, where));
  return {
    allowsHost: (host, url) => all.some(({ isOf, origin }) => isOf(host) && (url === undefined || isAt(url, origin))),
    trusts: (url) => all.some(({ isOf, origin }) => isOf(plainHost(url)) && isAt(url, origin ?? HTTPS)),
  };
}

const HTTPS = new URL('https://host');

function isAt(url: URL, origin: URL | undefined): boolean {
  return origin === undefined || (origin.protocol === url.protocol && origin.port === url.port);
}

function readEntry(entry: string, where: string): Entry {
  const {
    scheme,
    below,
    text = '',
  } = /^((?<scheme>https?|wss?):\/\/)?(?<below>\*\.)?(?<text>.*)$/s.exec(entry)?.groups ?? {};
  const url = readHost(text, scheme);
  if (url === undefined) throw new Error(`${where} holds ${JSON.stringify(entry)}, which is no host`);
  const host = plainHost(url);
  const ending = `.${host}`;
  return {
    isOf:
      below === undefined
        ? (given) => given === host
        : (given) => given.length > ending.length && given.endsWith(ending),
    origin: scheme === undefined ? undefined : url,
  };
}

/** Only with a scheme it can be said which port is meant. */
function readHost(text: string, scheme: string | undefined): URL | undefined {
  const isAddress6 = scheme === undefined && text.includes(':') && !text.startsWith('[');
  const url = URL.parse(`${scheme ?? 'http'}://${isAddress6 ? `[${text}]` : text}/`);
  if (url === null || url.hostname === '' || /[/?#@\\*\s]/.test(text)) return undefined;
  return scheme === undefined && url.port !== '' ? undefined : url;
}

/** The host without the brackets of IPv6 and without the dot that may end a name. */
export function plainHost(url: URL): string {
  return hostOf(url).replace(/\.$/, '');
}
