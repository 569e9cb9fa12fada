/** Four times the size of an answer of 128,000 tokens. Reading more would block the event loop. */
export const MAX_REPLY_BYTES = 1024 * 1024;

/** Rejection of a reply above MAX_REPLY_BYTES. */
export class ReplyTooLong extends Error {
  constructor() {
    super(`the reply is longer than ${MAX_REPLY_BYTES} bytes`);
  }
}

/** Text of a reply, as the provider sends it unstreamed. */
export interface ReplyText {
  readonly text: string;
  /** Reason for a missing text although bytes arrived. */
  readonly problem?: string;
  /** The reply broke off, so its usage may be lost. */
  readonly isCut?: boolean;
}

/** Bytes of a reply, decompressed. */
export interface ReplyBytes {
  /** Bytes read to detect the kind of reply. */
  readonly begun: readonly Buffer[];
  readonly rest: AsyncIterator<Buffer>;
}
