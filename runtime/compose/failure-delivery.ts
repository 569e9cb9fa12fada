import { parseQueueConfig, type QueueConfig } from '../config/runtime-config';
import type { EgressFilter } from '../contracts/tools/tool';
import { toRuntimeError } from '../errors/to-runtime-error';
import { createRedisConnection } from '../storage/redis/connection';
import { readQueueTask } from '../tasks/read-queue-task';
import { createTaskParts } from './tasks';

interface FailureDeliveryConfig extends QueueConfig {
  /** The host's own rules for outgoing requests. */
  readonly egress?: EgressFilter;
}

export interface FailureDelivery {
  /**
   * Does what Runtime.deliverFailure does, but webhooks go by the operator's rules only: those of the tenant are not
   * known.
   */
  readonly deliver: (task: unknown, error: unknown) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Writes failures to callbacks for a consumer that does not do the tasks itself. Throws CONFIG_INVALID. */
export function createFailureDelivery({ egress, ...given }: FailureDeliveryConfig): FailureDelivery {
  const config = parseQueueConfig(given);
  const redis = createRedisConnection(config.redis);
  const { deliverFailure } = createTaskParts({ config, redis });
  return {
    deliver: async (task, error) => deliverFailure(readQueueTask(task), toRuntimeError(error), { egress }),
    close: redis.close,
  };
}
