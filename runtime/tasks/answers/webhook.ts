import { createHmac } from 'node:crypto';

import pRetry from 'p-retry';

import type { CallbackStore } from '../../contracts/callback';
import type { Outgoing, OutgoingReply, OutgoingRules } from '../../contracts/tools/outgoing';
import { isRuntimeError, RuntimeError } from '../../errors/runtime-error';
import { newId, sleep } from '../../util/clock';
import type { JsonObject } from '../../util/json';
import { refuseCancelled } from '../types/send-request';

interface WebhookParts {
  readonly store: CallbackStore;
  readonly outgoing: Outgoing;
  /** Signs the body; undefined: it goes unsigned. */
  readonly signingKey?: string | Buffer;
}

export interface Webhook {
  /** The marker of the delivery, see contracts/callback.ts. */
  readonly marker: string;
  readonly url: string;
  readonly body: JsonObject;
  /** The same at every try; receivers take what they have seen before for done. */
  readonly idempotencyKey: string;
  readonly rules: OutgoingRules;
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 5000;
const RETRY = { retries: 2, minTimeout: 200, factor: 3, randomize: true };
/** Longer than all tries together. */
const LEASE_MS = 30_000;
const LONGEST_PAUSE_MS = 500;
/** What a receiver asks for beyond it is left to the next attempt of the queue. */
const LONGEST_RETRY_AFTER_S = 5;
/** Request Timeout, Too Early, Too Many Requests: the same request may do better later. */
const PASSING: readonly number[] = [408, 425, 429];
/** The most bytes of the answer, which nobody reads. */
const LIMIT_BYTES = 1024;

/**
 * Sends the webhook of a delivery, unless that was done before; waits while another process is at it. Rejects with
 * CALLBACK_FAILED, CALLBACK_REFUSED, CALLBACK_HOST_FORBIDDEN, RUN_CANCELLED or REDIS_UNAVAILABLE.
 */
export async function sendWebhook({ store, ...parts }: WebhookParts, webhook: Webhook): Promise<void> {
  const { marker, signal } = webhook;
  const holder = newId();
  for (;;) {
    const turn = await store.takeWebhook({ marker, holder, leaseMs: LEASE_MS });
    if (turn.kind === 'sent') return;
    if (turn.kind === 'ours') break;
    await pause(Math.min(turn.waitMs, LONGEST_PAUSE_MS), signal);
  }
  try {
    await post(parts, webhook);
  } catch (error) {
    // Whoever comes next need not wait. That Redis is away as well is not what went wrong first.
    await store.endWebhook({ marker, holder, isSent: false }).catch(() => undefined);
    throw error;
  }
  await store.endWebhook({ marker, holder, isSent: true });
}

async function post(
  { outgoing, signingKey }: Omit<WebhookParts, 'store'>,
  { url, body, idempotencyKey, rules, signal }: Webhook,
): Promise<void> {
  const text = JSON.stringify(body);
  const request = {
    url,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
      ...(signingKey === undefined ? {} : { 'x-universal-agent-signature': signature(text, signingKey) }),
    },
    body: text,
    timeoutMs: TIMEOUT_MS,
    limitBytes: LIMIT_BYTES,
  };
  let waitSeconds = 0;
  const attempt = async (): Promise<void> => {
    await pause(waitSeconds * 1000, signal);
    // Not broken off on cancel: it may have arrived, and would be sent again.
    const reply = await outgoing.send(request, rules);
    const failure = failureOf(reply);
    if (failure === undefined) return;
    waitSeconds = (reply.kind === 'answered' ? reply.retryAfter : undefined) ?? 0;
    throw failure;
  };
  const mayRetry = (error: unknown): boolean => isRuntimeError(error) && error.retryable;
  const shouldRetry = ({ error }: { readonly error: unknown }): boolean =>
    mayRetry(error) && waitSeconds <= LONGEST_RETRY_AFTER_S;
  await pRetry(attempt, { ...RETRY, shouldRetry });
}

/** `sha256=<hex>` over the body as it is sent. */
function signature(body: string, key: string | Buffer): string {
  return `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;
}

function failureOf(reply: OutgoingReply): RuntimeError | undefined {
  if (reply.kind === 'refused') return new RuntimeError('CALLBACK_HOST_FORBIDDEN', { reason: reply.reason });
  if (reply.kind !== 'answered') return new RuntimeError('CALLBACK_FAILED', { reason: reply.reason });
  const { status } = reply;
  if (status >= 200 && status < 300) return undefined;
  const isRedirect = status >= 300 && status < 400;
  const reason = `it answered HTTP ${status}${isRedirect ? ', and redirects are not followed' : ''}`;
  const mayPass = status >= 500 || PASSING.includes(status);
  return new RuntimeError(mayPass ? 'CALLBACK_FAILED' : 'CALLBACK_REFUSED', { reason });
}

async function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  refuseCancelled(signal);
  if (delayMs > 0) await sleep(delayMs, signal).catch(() => refuseCancelled(signal));
}
