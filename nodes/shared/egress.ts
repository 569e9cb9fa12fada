import type { IExecuteFunctions, ITriggerFunctions } from 'n8n-workflow';

import type { RunOptions } from '../../runtime/host';

/** n8n's own rules for outgoing requests; older versions have none. */
export function readEgress(context: Pick<IExecuteFunctions | ITriggerFunctions, 'helpers'>): RunOptions['egress'] {
  const { helpers } = context as { readonly helpers: Partial<ITriggerFunctions['helpers']> };
  return helpers.getSecureEgressFilter?.();
}
