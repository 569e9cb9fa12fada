import type { EgressFilter } from '../../contracts/tools/tool';

/** What the host of an operation, such as n8n, has to say beside its input. */
export interface AdminHost {
  /** The host's own rules for outgoing requests. */
  readonly egress?: EgressFilter;
}
