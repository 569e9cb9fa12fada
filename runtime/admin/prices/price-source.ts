import { joinLists, type ListedModel, type PriceList, readPriceList } from '../../billing/price-list';
import { isRuntimeError, RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';

const TIMEOUT_MS = 30_000;
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_PAGES = 50;

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

/** The models of a list that somebody has read already. Throws PRICE_LIST_INVALID. */
export function modelsOfText(text: string): Listed {
  const list = readPriceList(text);
  if (list.next !== undefined) throw new RuntimeError('PRICE_LIST_INVALID', { reason: 'it is one page of several' });
  return { models: joinLists([list]) };
}

/** The models that an address lists, page by page. Rejects with PRICE_LIST_UNREACHABLE, PRICE_LIST_INVALID. */
export async function modelsOfAddress({ url, apiKey }: ListAddress): Promise<Listed> {
  try {
    return await download(new URL(url), apiKey);
  } catch (error) {
    if (isRuntimeError(error)) throw error;
    throw new RuntimeError('PRICE_LIST_UNREACHABLE', { source: withoutSecrets(url), reason: errorText(error) });
  }
}

async function download(first: URL, apiKey: string | undefined): Promise<Listed> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const authorization = authorizationFor(first, apiKey);
  const lists: PriceList[] = [];
  for (let url: URL | undefined = first; url !== undefined;) {
    if (lists.length === MOST_PAGES) throw new RuntimeError('PRICE_LIST_INVALID', { reason: 'it has no end' });
    const list = await readPage(url, { authorization, signal });
    lists.push(list);
    url = list.next === undefined ? undefined : nextPage(url, list.next);
  }
  const provider = first.hostname.replace(/^openrouter\.ai$/, 'openrouter').slice(0, 50);
  return { source: withoutSecrets(first.href), provider, models: joinLists(lists) };
}

async function readPage(
  url: URL,
  { authorization, signal }: { readonly authorization?: string; readonly signal: AbortSignal },
): Promise<PriceList> {
  const headers = { accept: 'application/json', ...(authorization === undefined ? {} : { authorization }) };
  const response = await fetch(withoutUser(url), { headers, signal });
  if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`);
  return readPriceList(await readBounded(response.body));
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
