import type { IExecuteFunctions } from 'n8n-workflow';

import type { RunOptions } from '../../runtime';

/** n8n's own rules for outgoing requests; older versions have none. */
export function readEgress(context: IExecuteFunctions): RunOptions['egress'] {
  const { helpers } = context as { readonly helpers: Partial<IExecuteFunctions['helpers']> };
  return helpers.getSecureEgressFilter?.();
}
