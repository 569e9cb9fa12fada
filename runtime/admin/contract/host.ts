import type { EgressFilter } from '../../contracts/tools/tool';

/** What the host of an operation, such as n8n or a shell, gives beside its input. */
export interface AdminHost {
  /** The host's own rules for outgoing requests. */
  readonly egress?: EgressFilter;
  /** Told in a sentence how far a long operation has come. */
  readonly onProgress?: (progress: string) => void;
}
