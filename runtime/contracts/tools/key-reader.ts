/** Reads texts from a store of keys such as Redis. */
export interface KeyReader {
  /** Null when there is no such key. Rejects with an Error whose message holds no secret. */
  readonly get: (key: string) => Promise<string | null>;
}
