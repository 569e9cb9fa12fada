import type { IDataObject, ITriggerFunctions } from 'n8n-workflow';

import type { RuntimeConfig } from '../../runtime/host';
import type * as WorkerLibrary from '../../runtime/worker';
import { readCallbacks } from '../shared/callback-options';
import { readRedis } from '../shared/redis';

/** When a task counts as done. */
export type Acknowledge = 'executionFinishes' | 'executionSucceeds' | 'immediately';

interface TriggerSettings {
  readonly consumer: WorkerLibrary.ConsumerConfig;
  readonly callbacks: NonNullable<RuntimeConfig['callbacks']>;
  readonly acknowledge: Acknowledge;
  /** How long to wait for the end of an execution. */
  readonly timeoutMs: number;
}

export interface TriggerParts {
  readonly context: ITriggerFunctions;
  readonly library: typeof WorkerLibrary;
  readonly settings: TriggerSettings;
}

const MINUTE_MS = 60_000;
const DEFAULT_TIMEOUT_MINUTES = 60;
/** A week. Timers cannot do more than three of them. */
const MAX_TIMEOUT_MINUTES = 10_080;

/** The parameters of the trigger, and its credential. The trigger reads them once, when it is started. */
export async function readSettings(context: ITriggerFunctions): Promise<TriggerSettings> {
  const options = context.getNodeParameter('options', {}) as IDataObject;
  const forwardList = text(context, 'forwardList');
  const taskTypes = context.getNodeParameter('taskTypes', []) as string[];
  const attempts = Number(options.attempts);
  const tenantConcurrency = Number(options.tenantConcurrency);
  return {
    consumer: {
      redis: readRedis(await context.getCredentials('redis')),
      list: text(context, 'taskList'),
      failedList: text(context, 'failedList'),
      concurrency: Number(context.getNodeParameter('parallelTasks')),
      // Nothing chosen is not "no task at all".
      ...(taskTypes.length === 0 ? {} : { taskTypes }),
      ...(forwardList === '' ? {} : { forwardList }),
      ...(attempts > 0 ? { attempts } : {}),
      ...(tenantConcurrency > 0 ? { tenantConcurrency } : {}),
    },
    callbacks: readCallbacks(options),
    acknowledge: context.getNodeParameter('acknowledge') as Acknowledge,
    timeoutMs: Math.min(Number(options.timeoutMinutes) || DEFAULT_TIMEOUT_MINUTES, MAX_TIMEOUT_MINUTES) * MINUTE_MS,
  };
}

function text(context: ITriggerFunctions, name: string): string {
  return (context.getNodeParameter(name, '') as string).trim();
}
