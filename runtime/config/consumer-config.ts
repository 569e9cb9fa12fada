import * as z from 'zod/v4';

import type { ConsumerConfig, ConsumerSettings } from '../contracts/consumer';
import { TASK_TYPES } from '../contracts/queue';
import { RuntimeError } from '../errors/runtime-error';
import { readRedisAddress } from '../util/addresses/redis-address';
import { DEFAULTS, misreadIn, readBy } from './runtime-config';

const listName = z.string().min(1);
const settingsSchema = z.object({
  list: listName.default(DEFAULTS.taskList),
  failedList: listName.default(DEFAULTS.failedList),
  forwardList: listName.optional(),
  taskTypes: z
    .array(z.string())
    .min(1)
    .default([...TASK_TYPES]),
  concurrency: z.int().min(1).max(1000).default(DEFAULTS.workerConcurrency),
  tenantConcurrency: z.int().min(1).optional(),
  attempts: z.int().min(1).max(1000).default(DEFAULTS.workerAttempts),
  leaseMs: z.int().min(1000).default(DEFAULTS.leaseMs),
  maxTaskBytes: z.int().min(1024).default(DEFAULTS.maxTaskBytes),
  processMetrics: z.boolean().default(false),
});

/** Puts the defaults in. Throws CONFIG_INVALID that names the fields. */
export function readConsumerSettings({ redis, ...config }: ConsumerConfig): ConsumerSettings {
  const settings = readBy(settingsSchema, config);
  const misread = misreadIn(redis.url, readRedisAddress);
  if (misread !== undefined) throw invalid(`redis.url ${misread}`);
  const { list, failedList, forwardList } = settings;
  // What goes to the one would come back from the other, for ever.
  if (new Set([list, failedList, forwardList]).size < 3) {
    throw invalid('list, failedList and forwardList must be three different lists');
  }
  return settings;
}

function invalid(issues: string): RuntimeError {
  return new RuntimeError('CONFIG_INVALID', { issues });
}
