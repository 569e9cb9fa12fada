import type { EgressFilter } from '../../contracts/tools/tool';

/** Context of an operation from its host, such as n8n or a shell. */
export interface AdminHost {
  /** The host's own rules for outgoing requests. */
  readonly egress?: EgressFilter;
  /** Called with a sentence on the progress of a long operation. */
  readonly onProgress?: (progress: string) => void;
}
