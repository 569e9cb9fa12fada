import { randomUUID } from 'node:crypto';

import { createRuntime, type Runtime, type RuntimeConfig, type RuntimeError } from '../../../runtime';
import { type ReceivedRequest, startServer, type TestServer } from '../servers/http-server';
import { startRedis, type TestRedis } from '../servers/redis';
import { type AgentFixture, failureOf, startAgentFixture } from './agent-fixture';

export interface TaskFixture extends AgentFixture {
  readonly redis: TestRedis;
  /** Gets the webhooks and requests of tasks; answers 200 with `{"ok":true}` unless `answer` says otherwise. */
  readonly receiver: TestServer & { answer: Parameters<typeof startServer>[0] };
  /** What the receiver was sent for a task. */
  readonly webhooksOf: (taskId: string) => readonly ReceivedRequest[];
  /** A runtime on the same database, models and Redis with other settings; closed with the fixture. */
  readonly another: (config: Partial<RuntimeConfig>) => Runtime;
  /** Does a task that fails and delivers its failure, as a worker does after the last try. */
  readonly failFinally: (task: object) => Promise<RuntimeError>;
  /** What stands in a list of reports, newest first. */
  readonly reports: (key: string) => Promise<Record<string, unknown>[]>;
}

/** An agent's world with a Redis and a receiver of webhooks on an allowed host. */
export async function startTaskFixture(): Promise<TaskFixture> {
  const agent = await startAgentFixture();
  const redis = await startRedis({ durable: true });
  const server = await startServer((request, response) => receiver.answer(request, response));
  const receiver: TaskFixture['receiver'] = {
    ...server,
    answer: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
    },
  };
  const opened: Runtime[] = [];
  const another = (config: Partial<RuntimeConfig>): Runtime => {
    const runtime = createRuntime({
      database: { url: agent.database.url },
      model: { apiKey: 'sk-test-key', baseUrl: agent.models.url, maxRetries: 0 },
      redis: { url: redis.url },
      callbacks: { hosts: ['127.0.0.1'], webhookSecret: 'a webhook secret' },
      ...config,
    });
    opened.push(runtime);
    return runtime;
  };
  const runtime = another({});
  return {
    ...agent,
    runtime,
    redis,
    receiver,
    another,
    failFinally: async (task) => {
      const error = await failureOf(runtime.handle(task));
      await runtime.deliverFailure(task, error);
      return error;
    },
    webhooksOf: (taskId) => server.requests.filter(({ body }) => body.includes(taskId)),
    reports: async (key) =>
      (await redis.client.lrange(key, 0, -1)).map((entry) => JSON.parse(entry) as Record<string, unknown>),
    close: async () => {
      await Promise.all(opened.map((each) => each.close()));
      await Promise.all([agent.close(), redis.close(), server.close()]);
    },
  };
}

export interface CallbackKeys {
  readonly result_key: string;
  readonly counter_key: string;
  readonly status_key: string;
}

/** Keys of a trace of its own. */
export function callbackKeys(trace: string = randomUUID()): CallbackKeys {
  return {
    result_key: `elo:results:${trace}`,
    counter_key: `elo:counter:${trace}`,
    status_key: `elo:status:${trace}`,
  };
}
