import type { EgressFilter } from './tool';

/** Where an address may lead that stands in a task. */
export interface OutgoingRules {
  /** Hosts that the operator named; these may be private. */
  readonly allowsHost: (host: string, url?: URL) => boolean;
  /** Nothing but those hosts; else public ones too. */
  readonly isRestricted: boolean;
  /** The host's own rules, which must agree. */
  readonly egress?: EgressFilter;
}

export interface OutgoingRequest {
  readonly url: string;
  readonly method: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
  /** Longer answers are cut. */
  readonly limitBytes: number;
  readonly signal?: AbortSignal;
}

/** What became of a request. `reason` is for people and ends without a period. */
export type OutgoingReply =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly text: string;
      readonly isCut: boolean;
      /** Seconds until another try, as the answer asks. */
      readonly retryAfter?: number;
    }
  /** The rules forbid the address; nothing was sent. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Nobody was there; nothing was sent. */
  | { readonly kind: 'unreached'; readonly reason: string }
  /** Broken off or out of time: whether it took effect is unknown. */
  | { readonly kind: 'broken'; readonly reason: string };

/** Requests to addresses that a task names. Never follows redirects. */
export interface Outgoing {
  /** `*.example.com` stands for every host below it, `http://host:8080` for that scheme and port alone. Throws an Error that names the entry which is no host. */
  readonly readHosts: (entries: readonly string[]) => OutgoingRules['allowsHost'];
  /** Why the address is refused, without sending anything; undefined when it is not, or its name does not resolve at present. */
  readonly judge: (url: string, rules: OutgoingRules) => Promise<string | undefined>;
  /** Why a header of a task cannot be sent; undefined when it can. */
  readonly headerIssue: (name: string, value: string) => string | undefined;
  readonly send: (request: OutgoingRequest, rules: OutgoingRules) => Promise<OutgoingReply>;
}
