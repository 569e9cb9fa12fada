import { Agent, request } from 'undici';

import type { RequestAttempts } from '../contracts/model';
import { isJsonObject, tryParseJson } from '../util/json';

/** A model's reply is text; nothing honest is longer. */
const MAX_REPLY_BYTES = 16 * 1024 * 1024;

interface ModelTransport {
  /** Stands in for `fetch` under the openai client, which brings retries, time-outs and errors. */
  readonly fetch: typeof globalThis.fetch;
  readonly close: () => Promise<void>;
}

/** The extra field that our calls put into the client's fetch options. */
export interface AttemptsInit {
  readonly attempts?: RequestAttempts;
}

/**
 * A lean keep-alive transport: global fetch costs several times as much for each request.
 * It reads the whole body before it answers, so that the client's time-out covers the body too.
 */
export function createTransport(): ModelTransport {
  const dispatcher = new Agent({ keepAliveTimeout: 30_000, connections: 256, headersTimeout: 0, bodyTimeout: 0 });
  const send = async (url: string, init: RequestInit & AttemptsInit): Promise<LeanResponse> => {
    const { attempts } = init;
    if (attempts !== undefined) attempts.sent++;
    try {
      const reply = await request(url, {
        dispatcher,
        method: 'POST',
        headers: init.headers as Record<string, string>,
        body: init.body as string,
        signal: init.signal,
      });
      const text = await readText(reply.body);
      if (attempts !== undefined) attempts.answered++;
      return new LeanResponse(errorStatus(reply.statusCode, text), reply.headers, text);
    } catch (error) {
      // Nothing was sent when no connection could be made, so there is no usage to wonder about.
      if (attempts !== undefined && wasNotSent(error)) attempts.answered++;
      throw error;
    }
  };
  return {
    fetch: send as unknown as typeof globalThis.fetch,
    close: () => dispatcher.close(),
  };
}

/** As much of a Response as the openai client uses. */
class LeanResponse {
  readonly ok: boolean;
  readonly headers: HeaderView;
  readonly body = null;
  readonly url = '';

  constructor(
    readonly status: number,
    headers: Record<string, string | string[] | undefined>,
    private readonly content: string,
  ) {
    this.ok = status >= 200 && status < 300;
    this.headers = new HeaderView(headers);
  }

  text(): Promise<string> {
    return Promise.resolve(this.content);
  }

  json(): Promise<unknown> {
    return Promise.resolve(JSON.parse(this.content));
  }
}

/** undici gives plain lower-case header objects; a real Headers object for each reply is not worth its cost. */
class HeaderView {
  constructor(private readonly values: Record<string, string | string[] | undefined>) {}

  get(name: string): string | null {
    const value = this.values[name.toLowerCase()];
    return Array.isArray(value) ? value.join(', ') : (value ?? null);
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  *entries(): IterableIterator<[string, string]> {
    for (const name of Object.keys(this.values)) yield [name, this.get(name) ?? ''];
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_REPLY_BYTES) throw new Error(`the reply is longer than ${MAX_REPLY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] as Buffer).toString('utf8') : Buffer.concat(chunks).toString('utf8');
}

/** OpenRouter sends some failures as HTTP 200 with an `error` in the body; they count as the status they name. */
function errorStatus(status: number, text: string): number {
  if (status !== 200 || !text.includes('"error"')) return status;
  const parsed = tryParseJson(text);
  if (!parsed.ok || !isJsonObject(parsed.value)) return status;
  const { error } = parsed.value;
  if (!isJsonObject(error)) return status;
  const code = Number(error.code);
  return Number.isInteger(code) && code >= 400 && code <= 599 ? code : 502;
}

function wasNotSent(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'UND_ERR_CONNECT_TIMEOUT';
}
