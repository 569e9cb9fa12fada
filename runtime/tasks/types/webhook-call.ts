import * as z from 'zod/v4';

import type { QueueTask } from '../../contracts/queue';
import type { JsonValue } from '../../util/json';
import { readConfig } from './read-config';
import { sendTaskRequest, type TaskRequest } from './send-request';
import type { TaskHandler, TaskPorts } from './task-handler';

const configSchema = z.object({
  webhook_url: z.string().min(1),
  payload: z.custom<JsonValue | undefined>(() => true),
  repeatable: z.boolean().nullish(),
});

/** `webhook_call`: POSTs a payload as JSON. */
export function webhookCall(ports: TaskPorts): TaskHandler {
  return (task) => {
    const request = readRequest(task);
    return (context) => sendTaskRequest(task, request, { ports, context });
  };
}

function readRequest({ config }: QueueTask): TaskRequest {
  const { webhook_url: url, payload, repeatable } = readConfig(configSchema, config);
  return {
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(payload ?? {}),
    isRepeatable: repeatable === true,
  };
}
