/** What is written for a task that has come to an end, in one go. */
export interface CallbackWrite {
  /** The same for every delivery of the same answer; no key of a producer. */
  readonly marker: string;
  readonly resultKey?: string;
  /** JSON for `resultKey`. */
  readonly payload: string;
  readonly counterKey?: string;
  /** Set to "complete" when the counter, or 1 where there is none, has come to `total`. */
  readonly statusKey?: string;
  readonly total: number;
  /** A success still follows a failure under the same marker; nothing follows a success. */
  readonly isFailure: boolean;
}

interface CallbackWritten {
  /** False when an earlier delivery had written it. */
  readonly isFirst: boolean;
  /** The count after the first delivery; 1 where nothing is counted. */
  readonly counter: number;
  /** Whether what stands there is a success after a failure. */
  readonly isRetried: boolean;
}

interface Held {
  readonly marker: string;
  readonly holder: string;
}

/** Whose turn it is to send the webhook of a marker. */
export type WebhookTurn =
  { readonly kind: 'ours' } | { readonly kind: 'sent' } | { readonly kind: 'held'; readonly waitMs: number };

/**
 * Keeps the answers of tasks and what was done about them. Rejects with REDIS_UNAVAILABLE, and with CALLBACK_KEY_UNUSABLE
 * when a key holds something else; nothing is written then.
 */
export interface CallbackStore {
  /** Writes all of it once for each marker, but a success after a failure too, which is not counted again. */
  readonly write: (write: CallbackWrite) => Promise<CallbackWritten>;
  /** Takes the webhook for `leaseMs` unless it was sent, or another holder's time is not over. */
  readonly takeWebhook: (turn: Held & { readonly leaseMs: number }) => Promise<WebhookTurn>;
  /** Gives the webhook back, as sent or for the next one to try. */
  readonly endWebhook: (turn: Held & { readonly isSent: boolean }) => Promise<void>;
}

/** What is known of a request that must not be sent twice. */
export type RequestTurn =
  /** The intent is on record; send it. */
  | { readonly kind: 'ours' }
  /** It is being sent at this moment. */
  | { readonly kind: 'held'; readonly waitMs: number }
  /** It was sent, or may have been, by somebody who is gone. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'ended'; readonly outcome: string }
  /** The same id stands for another request. */
  | { readonly kind: 'conflict' };

/** Remembers requests that must not be sent twice. Rejects with REDIS_UNAVAILABLE. */
export interface RequestStore {
  /**
   * Records the intent, for `leaseMs`; `digest` tells the request from others. With `fresh` whatever was known is
   * forgotten.
   */
  readonly begin: (
    request: Held & { readonly digest: string; readonly leaseMs: number; readonly fresh: boolean },
  ) => Promise<RequestTurn>;
  /** Keeps the outcome; without one the intent is taken back, since nothing was sent. */
  readonly end: (request: Held & { readonly outcome?: string }) => Promise<void>;
}

/** The lists that producers push to and read from. Rejects with REDIS_UNAVAILABLE or CALLBACK_KEY_UNUSABLE. */
export interface TaskLists {
  readonly push: (list: string, entry: string) => Promise<void>;
  /** Newest first. */
  readonly read: (list: string, range: { readonly from: number; readonly count: number }) => Promise<readonly string[]>;
}
