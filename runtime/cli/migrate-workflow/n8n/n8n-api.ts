import { isRuntimeError, RuntimeError } from '../../../errors/runtime-error';
import { errorText } from '../../../errors/to-runtime-error';
import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../../../util/json';
import type { N8nAddress } from '../request';

const TIMEOUT_MS = 30_000;
const PAGE_SIZE = 100;
const MAX_REASON_CHARS = 300;
/** A server that always has one more would keep us for ever. */
const MAX_PAGES = 1000;

/** A running n8n, over its public API. Every call throws N8N_UNAUTHORIZED, N8N_UNAVAILABLE or N8N_REFUSED. */
export interface N8nApi {
  /** Throws N8N_WORKFLOW_NOT_FOUND, too. */
  readonly workflow: (id: string) => Promise<JsonObject>;
  /** All of them, page by page; with a name those of that name. */
  readonly workflows: (name?: string) => Promise<readonly JsonObject[]>;
  readonly create: (workflow: JsonObject) => Promise<JsonObject>;
}

interface Call {
  readonly path: string;
  readonly body?: JsonObject;
  /** What a 404 means; without it, that this is no n8n. */
  readonly id?: string;
}

export function openN8n(address: N8nAddress, timeoutMs = TIMEOUT_MS): N8nApi {
  const call = async (request: Call): Promise<JsonObject> => objectOf(address, await send(address, request, timeoutMs));
  return {
    workflow: async (id) => {
      const workflow = await call({ path: `/workflows/${encodeURIComponent(id)}`, id });
      if (!Array.isArray(workflow.nodes)) throw refused(address, 'its answer is no workflow');
      return workflow;
    },
    workflows: async (name) => {
      const found: JsonObject[] = [];
      const seen = new Set<JsonValue>();
      for (let cursor: JsonValue | undefined = ''; typeof cursor === 'string' && !seen.has(cursor);) {
        if (seen.add(cursor).size > MAX_PAGES) throw refused(address, `its list has more than ${MAX_PAGES} pages`);
        const query = new URLSearchParams({
          limit: String(PAGE_SIZE),
          ...(name && { name }),
          ...(cursor && { cursor }),
        });
        const page = await call({ path: `/workflows?${query.toString()}` });
        if (!Array.isArray(page.data)) throw refused(address, 'its answer is no list of workflows');
        found.push(...(page.data as readonly JsonValue[]).filter(isJsonObject));
        cursor = page.nextCursor;
      }
      return found;
    },
    create: (body) => call({ path: '/workflows', body }),
  };
}

async function send(address: N8nAddress, { path, body, id }: Call, timeoutMs: number): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(`${address.url}/api/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-n8n-api-key': address.apiKey, accept: 'application/json', 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
      // Elsewhere the key must not go.
      redirect: 'manual',
      signal,
    });
    const text = await response.text();
    if (response.ok) return text;
    throw failureOf(address, response.status, { text, id });
  } catch (error) {
    if (isRuntimeError(error)) throw error;
    const reason = signal.aborted ? 'it does not answer' : errorText(error);
    throw new RuntimeError('N8N_UNAVAILABLE', { url: address.url, reason: clean(address, reason) });
  }
}

function failureOf(
  address: N8nAddress,
  status: number,
  { text, id }: { readonly text: string; readonly id?: string },
): RuntimeError {
  const { url } = address;
  if (status === 401 || status === 403) return new RuntimeError('N8N_UNAUTHORIZED', { url, status });
  // The API says in JSON what it does not have; other pages of n8n, and other servers, do not.
  if (status === 404 && id !== undefined && saidIn(text) !== undefined) {
    return new RuntimeError('N8N_WORKFLOW_NOT_FOUND', { url, id });
  }
  const reason = clean(address, `HTTP ${status} ${saidIn(text) ?? text}`);
  if (status >= 500 || status === 429) return new RuntimeError('N8N_UNAVAILABLE', { url, reason });
  return refused(address, reason);
}

function saidIn(text: string): string | undefined {
  const parsed = tryParseJson(text, Infinity);
  const said = parsed.ok && isJsonObject(parsed.value) ? parsed.value.message : undefined;
  return typeof said === 'string' ? said : undefined;
}

function objectOf(address: N8nAddress, text: string): JsonObject {
  const parsed = tryParseJson(text, Infinity);
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  throw refused(address, 'its answer is no JSON object');
}

function refused(address: N8nAddress, reason: string): RuntimeError {
  return new RuntimeError('N8N_REFUSED', { url: address.url, reason });
}

/** A server may repeat what it was sent; the key is never shown. */
function clean({ apiKey }: N8nAddress, text: string): string {
  return text
    .replaceAll(apiKey, '***')
    .trim()
    .slice(0, MAX_REASON_CHARS)
    .replace(/[.\s]+$/, '');
}
