import type { IExecuteFunctions } from 'n8n-workflow';

import type { Log } from '../../runtime/host';

/** The log of n8n. It has a line for each execution already, so what is merely told goes to its level `debug`. */
export function logOf({ logger }: Pick<IExecuteFunctions, 'logger'>): Log {
  return (level, message, facts) => logger[level === 'info' ? 'debug' : level](message, facts);
}
