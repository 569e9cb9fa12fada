import { Agent, request } from 'undici';

import { RuntimeError } from '../../errors/runtime-error';
import { wasNeverConnected } from '../../util/connection-errors';
import { holdsMoreThan, isJsonObject, type JsonValue, MAX_JSON_VALUES, tryParseJson } from '../../util/json';
import { turn } from '../../util/turn';
import { readReply } from './read-reply';
import { readError, saysSomething } from './reply-error';
import type { ReplyText } from './reply-text';
import { withoutTimeout } from './silence';
import { noteRefused, noteWasted, type OwnCall } from './wasted-reply';

interface ModelTransport {
  /** Stands in for `fetch` under the openai client, which brings retries, time-outs and errors. */
  readonly fetch: typeof globalThis.fetch;
  readonly close: () => Promise<void>;
}

/** The extra field that our calls put into the client's fetch options. */
export interface CallInit {
  readonly call: OwnCall;
}

/**
 * A lean keep-alive transport: global fetch costs several times as much for each request.
 * It reads the whole body before it answers.
 */
export function createTransport(): ModelTransport {
  const dispatcher = new Agent({ keepAliveTimeout: 30_000, connections: 256 });
  const send = async (url: string, init: RequestInit & CallInit): Promise<LeanResponse> => {
    const { call } = init;
    const { attempts } = call;
    attempts.sent++;
    try {
      const {
        statusCode: status,
        headers,
        body,
      } = await request(url, {
        dispatcher,
        method: 'POST',
        headers: init.headers as Record<string, string>,
        body: init.body as string,
        signal: init.signal,
        headersTimeout: call.silenceMs,
        bodyTimeout: call.silenceMs,
      });
      const reply = await readReply({ status, encoding: headers['content-encoding'], body }, call);
      if (reply.isCut !== true) attempts.answered++;
      if (call.onDelta === undefined) await turn();
      return toResponse({ status, headers: withoutRetry(headers, call), ...reply }, call);
    } catch (error) {
      // Nothing was sent when no connection could be made, so there is no usage to wonder about.
      if (wasNeverConnected(error)) attempts.answered++;
      throw withoutTimeout(error);
    }
  };
  return {
    fetch: send as unknown as typeof globalThis.fetch,
    close: () => dispatcher.close(),
  };
}

/** The openai client tries again what may pass, unless the server says that it should not. */
function withoutRetry(headers: Headers, { attempts }: OwnCall): Headers {
  return attempts.isShown === true ? { ...headers, 'x-should-retry': 'false' } : headers;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

interface RawReply extends ReplyText {
  readonly status: number;
  readonly headers: Headers;
}

/**
 * Whatever its status is and whatever type it calls itself: what a failed reply has used is paid for. Usage that cannot
 * be read is as unknown as that of a request without a reply.
 */
function toResponse(reply: RawReply, call: OwnCall): LeanResponse {
  const { status, headers, text, problem } = reply;
  const body = isSuccess(status) || saysWhatItUsed(text) ? parseJson(text) : undefined;
  const error = errorIn(body, isSuccess(status));
  const meant = status === 200 && error !== undefined ? error.code : status;
  if (!isSuccess(meant)) noteFailure(reply, body, call);
  // The openai client reads this form only.
  const words = error === undefined ? text : JSON.stringify({ error });
  return new LeanResponse(meant, headers, { text: words, problem, body });
}

function noteFailure(reply: RawReply, body: JsonValue | undefined, call: OwnCall): void {
  const note = isSuccess(reply.status) ? noteWasted : noteRefused;
  if (!note(body, call) && reply.isCut !== true && isUnknown(reply, body)) call.attempts.answered--;
}

/** Google's errors come in a list. */
function errorIn(body: JsonValue | undefined, isReply: boolean): ReturnType<typeof readError> {
  const reply = Array.isArray(body) && !isReply ? (body as JsonValue[])[0] : body;
  return isJsonObject(reply) ? readError(reply, !isReply) : undefined;
}

/** Reports a reply whose usage may be lost: text that begins as JSON but broke off, or usage in an unknown form. */
function isUnknown({ text, problem }: ReplyText, body: JsonValue | undefined): boolean {
  return body === undefined ? saysWhatItUsed(text) || problem !== undefined : namesUsage(body);
}

/** Whether a text says what it used, as far as one can see without reading it: the page of a proxy does not. */
function saysWhatItUsed(text: string): boolean {
  return text.includes('"usage"') || /^\s*[{[]/.test(text);
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function parseJson(text: string): JsonValue | undefined {
  const parsed = tryParseJson(text);
  return parsed.ok ? parsed.value : undefined;
}

/** The part of a Response that the openai client uses, and the reply as it was read already. */
export class LeanResponse {
  readonly ok: boolean;
  readonly headers: HeaderView;
  readonly body = null;
  readonly url = '';

  constructor(
    readonly status: number,
    headers: Headers,
    private readonly content: ReplyText & { readonly body: JsonValue | undefined },
  ) {
    this.ok = isSuccess(status);
    this.headers = new HeaderView(headers);
  }

  text(): Promise<string> {
    return Promise.resolve(this.content.text);
  }

  /** Undefined where the reply is no JSON. */
  get parsed(): JsonValue | undefined {
    return this.content.body;
  }

  /**
   * The JSON of the reply. Throws LLM_BAD_REPLY for text that is none: nothing of it is quoted, since half a secret may
   * be in it.
   */
  reply(): JsonValue {
    const { text, problem, body } = this.content;
    if (body !== undefined && problem === undefined) return body;
    throw new RuntimeError('LLM_BAD_REPLY', { reason: problem ?? whatItIs(text) });
  }
}

function whatItIs(text: string): string {
  if (text.trim() === '') return 'it is empty';
  if (holdsMoreThan(text, MAX_JSON_VALUES)) return `it has more than ${MAX_JSON_VALUES} values`;
  return /^\s*<(?:!doctype|html|head|body)\b/i.test(text) ? 'it is an HTML page' : 'it is not JSON';
}

/** undici gives plain lower-case header objects; a real Headers object for each reply is not worth its cost. */
class HeaderView {
  constructor(private readonly values: Headers) {}

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

function namesUsage(body: JsonValue | undefined): boolean {
  return isJsonObject(body) && body.usage !== undefined && saysSomething(body.usage);
}
