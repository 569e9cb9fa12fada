import type { ParsedConfig } from '../config/runtime-config';
import type { AgentResult } from '../contracts/result';
import type { RunOptions } from '../contracts/run';
import type { TenantStore } from '../contracts/tenant';
import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { createRedisCallbacks } from '../storage/redis/callback-store';
import type { RedisConnection } from '../storage/redis/connection';
import { createRedisRequests } from '../storage/redis/request-store';
import { createRedisLists } from '../storage/redis/task-lists';
import { createCallbackRules } from '../tasks/address-rules';
import { createCallbacks } from '../tasks/answers/callbacks';
import { createTaskQueue, type TaskQueue } from '../tasks/enqueue-task';
import { createTaskHandling, type TaskHandling } from '../tasks/handle-task';
import type { ReadyTask } from '../tasks/read-task';
import { createTaskTypes } from '../tasks/types/task-types';
import { createWriteFailure, type DeliverFailure } from '../tasks/write-failure';
import { compileSchema } from '../tools/schemas/validate-input';
import { createOutgoing } from '../tools/web/outgoing';
import { createSealer } from '../vault/sealer';

interface TaskPartsOptions {
  readonly config: Pick<ParsedConfig, 'callbacks' | 'queue'> & { readonly vaultKey?: string };
  readonly redis?: RedisConnection;
  /** Undefined where no database is connected. */
  readonly tenants?: TenantStore;
}

interface TaskParts {
  readonly queue: TaskQueue;
  readonly deliverFailure: DeliverFailure;
  readonly handling: (run: (task: ReadyTask, options: RunOptions) => Promise<AgentResult>) => TaskHandling;
}

/** The name under which a key for webhooks is made from the vault key; receivers have to know it. */
const WEBHOOK_PURPOSE = 'universal-ai-agent/webhook';

/** Wires what does tasks of all types, and what pushes them and finds their reports. Throws CONFIG_INVALID. */
export function createTaskParts({ config, redis, tenants }: TaskPartsOptions): TaskParts {
  const { callbacks: settings, queue, vaultKey } = config;
  const outgoing = createOutgoing();
  const { hosts, keyPrefixes, webhookSecret } = settings;
  try {
    outgoing.readHosts(hosts);
  } catch (error) {
    throw new RuntimeError('CONFIG_INVALID', { issues: `callbacks.hosts: ${errorText(error)}` });
  }
  const { list, failedList, forwardList = [] } = queue;
  const keys = { prefixes: keyPrefixes, reserved: [list, failedList].concat(forwardList) };
  const rulesOf = createCallbackRules({ tenants, outgoing, hosts });
  const derived = vaultKey === undefined ? undefined : createSealer(vaultKey).deriveKey(WEBHOOK_PURPOSE);
  const callbacks = createCallbacks({
    store: redis && createRedisCallbacks(redis),
    outgoing,
    keys,
    signingKey: webhookSecret ?? derived,
  });
  const findHandler = createTaskTypes({
    compileSchema: (schema) => compileSchema(schema, 'the answer'),
    outgoing,
    requests: redis && createRedisRequests(redis),
  });
  const deliverFailure = createWriteFailure({ callbacks, rulesOf });
  const lists = redis && createRedisLists(redis);
  return {
    queue: createTaskQueue({ lists, keys, list, findHandler, outgoing }),
    deliverFailure,
    handling: (run) => createTaskHandling({ run, findHandler, rulesOf, callbacks, deliverFailure }),
  };
}
