import { joinLists, type ListedModel, type PriceList, readPriceList } from '../../billing/price-list';
import { isRuntimeError, RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';

const TIMEOUT_MS = 30_000;
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_PAGES = 50;
const MOST_REDIRECTS = 5;

interface Listed {
  /** The address, without secrets. */
  readonly source?: string;
  /** The name for rows that are added. */
  readonly provider?: string;
  readonly models: readonly ListedModel[];
}

/** Where a list of models comes from. */
export interface ListAddress {
  readonly url: string;
  /** The key for that provider, sent to no other. */
  readonly apiKey?: string;
}

/** The models of a list that somebody has read already. Rejects with PRICE_LIST_INVALID. */
export async function modelsOfText(text: string): Promise<Listed> {
  const list = await readPriceList(text);
  if (list.next !== undefined) throw new RuntimeError('PRICE_LIST_INVALID', { reason: 'it is one page of several' });
  return { models: joinLists([list]) };
}

/** Rejects where an address must not be asked. */
type Check = (url: string) => Promise<void>;

/**
 * The models that an address lists, page by page. `check` is asked before each request, also for where the answer leads on.
 * Rejects with PRICE_LIST_UNREACHABLE, PRICE_LIST_INVALID, or as `check` does.
 */
export async function modelsOfAddress({ url, apiKey }: ListAddress, check: Check): Promise<Listed> {
  try {
    return await download(new URL(url), apiKey, check);
  } catch (error) {
    if (isRuntimeError(error)) throw error;
    throw new RuntimeError('PRICE_LIST_UNREACHABLE', { source: withoutSecrets(url), reason: errorText(error) });
  }
}

async function download(first: URL, apiKey: string | undefined, check: Check): Promise<Listed> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const authorization = authorizationFor(first, apiKey);
  const lists: PriceList[] = [];
  for (let url: URL | undefined = first; url !== undefined;) {
    if (lists.length === MOST_PAGES) throw new RuntimeError('PRICE_LIST_INVALID', { reason: 'it has no end' });
    const list = await readPage(url, { authorization, signal, check });
    lists.push(list);
    url = list.next === undefined ? undefined : nextPage(url, list.next);
  }
  const provider = first.hostname.replace(/^openrouter\.ai$/, 'openrouter').slice(0, 50);
  return { source: withoutSecrets(first.href), provider, models: joinLists(lists) };
}

interface Asking {
  readonly authorization?: string;
  readonly signal: AbortSignal;
  readonly check: Check;
}

async function readPage(url: URL, asking: Asking): Promise<PriceList> {
  const response = await ask(url, asking);
  if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`);
  return readPriceList(await readBounded(response.body));
}

/** Follows redirects; the key goes to no other server. */
async function ask(first: URL, { authorization, signal, check }: Asking): Promise<Response> {
  let url = first;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    await check(url.href);
    const isFirst = url.origin === first.origin;
    const headers = { accept: 'application/json', ...(isFirst && authorization !== undefined && { authorization }) };
    const response = await fetch(withoutUser(url), { headers, signal, redirect: 'manual' });
    const next = nextOf(response, url);
    if (next === undefined) return response;
    await response.body?.cancel();
    url = next;
  }
  throw new Error(`more than ${MOST_REDIRECTS} redirects`);
}

function nextOf({ status, headers }: Response, url: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status)) return undefined;
  const location = headers.get('location');
  const next = location === null ? null : URL.parse(location, url.href);
  if (next === null || !/^https?:$/.test(next.protocol)) throw new Error(`HTTP ${status} to no http(s) address`);
  return next;
}

/** The key, else the name and password that stand in the address. */
function authorizationFor({ username, password }: URL, apiKey: string | undefined): string | undefined {
  if (apiKey !== undefined) return `Bearer ${apiKey}`;
  if (username === '' && password === '') return undefined;
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

/** Fetch refuses an address with a password in it, and quotes it whole. */
function withoutUser(url: URL): URL {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  return bare;
}

function nextPage(url: URL, next: string): URL {
  const following = URL.parse(next, url.href);
  if (following?.origin === url.origin) return following;
  throw new RuntimeError('PRICE_LIST_INVALID', { reason: 'its next page is on another server' });
}

async function readBounded(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk as Uint8Array);
    size += bytes.length;
    if (size > MOST_BYTES)
      throw new RuntimeError('PRICE_LIST_INVALID', { reason: `it is larger than ${MOST_BYTES} bytes` });
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** An address may hold a password or a key. */
function withoutSecrets(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return /^https?:/i.test(url) ? 'an address that is none' : url;
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}
