import type { EgressFilter } from '../../contracts/tools/tool';

/** Rules of the host of an operation, such as n8n, beside its input. */
export interface AdminHost {
  /** The host's own rules for outgoing requests. */
  readonly egress?: EgressFilter;
}
