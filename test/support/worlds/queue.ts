import { createHash, randomUUID } from 'node:crypto';

import type { Redis } from 'ioredis';

import type { DeadEntry } from '../../../runtime/queue/jobs/dead-letter';
import {
  type Consumer,
  type ConsumerConfig,
  type ConsumerParts,
  type DeadTask,
  startConsumer,
} from '../../../runtime/worker';
import type { TestRedis } from '../servers/redis';

/** Lists of their own for a test, on a Redis that several tests share. */
export interface TestQueue {
  readonly config: ConsumerConfig;
  readonly push: (...tasks: readonly unknown[]) => Promise<void>;
  /** Starts a consumer that is closed with the queue. */
  readonly consume: (
    handle: ConsumerParts['handle'],
    config?: Partial<ConsumerConfig>,
    parts?: Partial<ConsumerParts>,
  ) => Promise<Consumer>;
  /** The dead-letter list, the oldest first. */
  readonly dead: () => Promise<DeadEntry[]>;
  /** What was said of dead tasks. */
  readonly told: DeadTask[];
  readonly logs: string[];
  readonly close: () => Promise<void>;
}

export function testQueue(redis: TestRedis, more: Partial<ConsumerConfig> = {}): TestQueue {
  const list = `tasks:${randomUUID()}`;
  const config: ConsumerConfig = { redis: { url: redis.url }, list, failedList: `${list}-failed`, ...more };
  const consumers: Consumer[] = [];
  const told: DeadTask[] = [];
  const logs: string[] = [];
  return {
    config,
    told,
    logs,
    push: async (...tasks) => {
      await redis.client.lpush(list, ...tasks.map(toEntry));
    },
    consume: async (handle, changed = {}, parts = {}) => {
      const consumer = await startConsumer(
        { ...config, ...changed },
        {
          handle,
          onDead: (dead) => {
            told.push(dead);
            return Promise.resolve();
          },
          log: (level, message, facts) => logs.push(JSON.stringify({ level, message, ...facts })),
          ...parts,
        },
      );
      consumers.push(consumer);
      return consumer;
    },
    dead: async () => {
      const entries = await redis.client.lrange(config.failedList ?? '', 0, -1);
      return entries.reverse().map((entry) => JSON.parse(entry) as DeadEntry);
    },
    close: async () => {
      await Promise.all(consumers.map((consumer) => consumer.close({ graceMs: 0 })));
    },
  };
}

function toEntry(task: unknown): string | Buffer {
  return typeof task === 'string' || Buffer.isBuffer(task) ? task : JSON.stringify(task);
}

/** A task as producers push it. */
export function aTask(no: number | string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    task_id: `task-${no}`,
    trace_id: `trace-${no}`,
    task_type: 'ai_agent',
    config: { message: `message ${no}` },
    meta: { tenant_id: '3f2b8c1e-5d4a-4c6b-9e7f-0a1b2c3d4e5f' },
    ...more,
  };
}

/** How many keys the queue of a list has left behind that hold tasks. */
export async function keysOf(client: Redis, { list = '' }: ConsumerConfig): Promise<string[]> {
  return client.keys(`${list}*`);
}

export function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
