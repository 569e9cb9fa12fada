import { readCallbacks } from '../../shared/callback-options';
import { optionalCredential } from '../../shared/credentials';
import type { Library, TaskItem } from '../../shared/item';
import { readRedis } from '../../shared/redis';

type QueueConfig = Parameters<Library['useTaskQueue']>[0];

/** What Enqueue Task and Get Result need: Redis, and nothing else. Rejects with REDIS_MISSING. */
export async function readQueueConfig({ context, library, index, options }: TaskItem): Promise<QueueConfig> {
  const { taskList } = options;
  const redis = await optionalCredential(context, 'redis', index);
  // n8n cannot require a credential for some operations only.
  if (redis === undefined) throw new library.RuntimeError('REDIS_MISSING', { what: 'This operation' });
  return {
    redis: readRedis(redis),
    callbacks: readCallbacks(options),
    ...(typeof taskList === 'string' && taskList !== '' ? { queue: { list: taskList } } : {}),
  };
}
