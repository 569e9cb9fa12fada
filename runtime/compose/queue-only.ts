import { parseQueueConfig, type QueueConfig } from '../config/runtime-config';
import { createRedisConnection } from '../storage/redis/connection';
import type { TaskQueue } from '../tasks/enqueue-task';
import { createTaskParts } from './tasks';

/** The producer's side of the queue where there is Redis and nothing else. Throws CONFIG_INVALID; connects when it is used. */
export function createRedisQueue(given: QueueConfig): TaskQueue & { readonly close: () => Promise<void> } {
  const config = parseQueueConfig(given);
  const redis = createRedisConnection(config.redis);
  return { ...createTaskParts({ config, redis }).queue, close: redis.close };
}
