import type { JSONRPCMessage, JSONRPCRequest, Transport, TransportSendOptions } from '@modelcontextprotocol/client';

import { after, monotonicMs } from '../../util/clock';
import type { JsonObject } from '../../util/json';
import { STREAM_LOST } from './connect-failures';
import { restoreIntegers } from './long-integers';
import { tidyResult } from './tidy-results';

/** Allowance for requests of the server, which are answered, most of them with "Method not found". */
const REQUESTS = { atOnce: 10, aSecond: 1 };
/** Allowance for notifications, answers to unknown ids and invalid messages. */
const OTHERS = { atOnce: 10_000, aSecond: 200 };
/** Limit of answers in delivery; further requests are dropped. */
const MAX_OPEN_ANSWERS = 4;
/** Time limit for delivering an answer or a notification. */
const DELIVERY_MS = 10_000;
/** Time a server has to close the stream of a request after its answer. */
const STREAM_GRACE_MS = 1000;

/**
 * Limits what a server can make the client do. Counts unsolicited messages and closes the connection above the allowance.
 * Answers requests of the server only while one of the client's is open. Closes the stream of a request soon after its
 * answer. If the stream breaks off, answers the request with an error; the SDK would wait for its time-out. Tidies results
 * before the SDK judges them as a whole.
 */
export function boundTransport(transport: Transport): Transport {
  const bounds = new Bounds(transport);
  // A proxy, since the SDK looks at the transport's class and at more members than its interface has.
  return new Proxy(transport, {
    get: (target, key): unknown => {
      if (isBounded(key)) return bounds[key];
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' && key !== 'constructor' ? value.bind(target) : value;
    },
    set: (target, key, value) => Reflect.set(isBounded(key) ? bounds : target, key, value),
  });
}

type Bounded = 'send' | 'onmessage' | 'onerror';

function isBounded(key: string | symbol): key is Bounded {
  return key === 'send' || key === 'onmessage' || key === 'onerror';
}

interface OpenRequest {
  readonly id: JSONRPCRequest['id'];
  readonly method: string;
  readonly stream: AbortController;
  /** Cancels closing the stream; set when the answer arrives. */
  keepStream?: () => void;
}

/** Filter between the SDK, whose handlers it holds, and a transport. */
class Bounds implements Pick<Transport, Bounded> {
  onmessage: Transport['onmessage'];
  onerror: Transport['onerror'];
  private readonly open = new Map<string, OpenRequest>();
  private readonly mayAsk = allowance(REQUESTS);
  private readonly mayTell = allowance(OTHERS);
  private openAnswers = 0;
  private isOver = false;

  constructor(private readonly transport: Transport) {
    transport.onmessage = (message, extra) => this.receive(message, extra);
    transport.onerror = (error) => {
      if (this.allows(this.mayTell)) this.onerror?.(error);
    };
  }

  readonly send: Transport['send'] = (message, options) => {
    if (!('method' in message)) return this.answer(message, options);
    // Lives as long as the connection; the SDK closes it.
    if (message.method === 'subscriptions/listen') return this.transport.send(message, options);
    if ('id' in message) return this.ask(message, options);
    if (message.method === 'notifications/cancelled') this.settle(message.params?.requestId);
    return this.deliver(message, options);
  };

  private receive(message: JSONRPCMessage, extra: Parameters<NonNullable<Transport['onmessage']>>[1]): void {
    const request = 'method' in message ? undefined : this.open.get(String(message.id));
    if (request !== undefined) {
      this.settle(request.id);
      this.onmessage?.(tidy(restoreIntegers(message, request.method === 'tools/call'), request.method), extra);
    } else if (this.allows('method' in message && 'id' in message ? this.mayAsk : this.mayTell)) {
      if ('method' in message) this.onmessage?.(withNumbers(message), extra);
    }
  }

  private ask(message: JSONRPCRequest, options: TransportSendOptions = {}): Promise<void> {
    const request: OpenRequest = {
      id: message.id,
      method: message.method,
      stream: new AbortController(),
    };
    const forget = (): void => void this.open.delete(String(message.id));
    this.open.set(String(message.id), request);
    const cancel = (): void => {
      forget();
      request.stream.abort();
    };
    options.requestSignal?.addEventListener('abort', cancel, { once: true });
    const onRequestStreamEnd = (): void => {
      request.keepStream?.();
      this.lose(request, 'the connection was lost before the answer came');
    };
    const sending = this.transport.send(message, {
      ...options,
      requestSignal: request.stream.signal,
      onRequestStreamEnd,
    });
    sending.catch(forget);
    return sending;
  }

  private answer(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.open.size === 0 || this.openAnswers >= MAX_OPEN_ANSWERS) return Promise.resolve();
    this.openAnswers++;
    // The id as the server wrote it.
    return this.deliver(restoreIntegers({ ...message }, true), options).finally(() => this.openAnswers--);
  }

  private deliver(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    return this.transport.send(message, { ...options, requestSignal: AbortSignal.timeout(DELIVERY_MS) });
  }

  private settle(id: unknown): void {
    const request = this.open.get(String(id));
    if (request === undefined) return;
    this.open.delete(String(id));
    request.keepStream = after(STREAM_GRACE_MS, () => request.stream.abort());
  }

  private lose(request: OpenRequest, message: string): void {
    if (!this.open.delete(String(request.id))) return;
    this.onmessage?.({ jsonrpc: '2.0', id: request.id, error: { code: STREAM_LOST, message } });
  }

  /** Takes one from the allowance, or closes the connection. */
  private allows(may: () => boolean): boolean {
    if (this.isOver || may()) return !this.isOver;
    this.isOver = true;
    for (const request of this.open.values()) this.lose(request, 'the server sent too many unsolicited messages');
    this.transport.close().catch(() => undefined);
    return false;
  }
}

/** A long id stays marked, since the answer has to repeat it. */
function withNumbers<T extends JSONRPCMessage>(message: T): T {
  const id = 'id' in message ? { id: message.id } : {};
  return { ...restoreIntegers(message, false), ...id };
}

function tidy(message: JSONRPCMessage, method: string): JSONRPCMessage {
  if (!('result' in message)) return message;
  return { ...message, result: tidyResult(method, message.result as JsonObject) as typeof message.result };
}

/** Token bucket; the returned function takes a token and reports success. */
function allowance({ atOnce, aSecond }: typeof REQUESTS): () => boolean {
  let left = atOnce;
  let lookedAt = monotonicMs();
  return () => {
    const now = monotonicMs();
    left = Math.min(atOnce, left + ((now - lookedAt) / 1000) * aSecond);
    lookedAt = now;
    if (left < 1) return false;
    left--;
    return true;
  };
}
