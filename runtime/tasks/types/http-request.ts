import * as z from 'zod/v4';

import type { QueueTask } from '../../contracts/queue';
import type { Outgoing } from '../../contracts/tools/outgoing';
import { RuntimeError } from '../../errors/runtime-error';
import type { JsonValue } from '../../util/json';
import { readConfig } from './read-config';
import { sendTaskRequest, type TaskRequest } from './send-request';
import type { TaskHandler, TaskPorts } from './task-handler';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const WITHOUT_BODY: readonly string[] = ['GET', 'HEAD'];

const configSchema = z.object({
  url: z.string().min(1),
  method: z
    .string()
    .nullish()
    .transform((method) => (method || 'POST').toUpperCase())
    .pipe(z.enum(METHODS)),
  headers: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
    .nullish()
    .transform((headers) => headers ?? {}),
  body: z.custom<JsonValue | undefined>(() => true),
  repeatable: z.boolean().nullish(),
});

/** `http_request`: one request to a public address, or to a host that the operator named. */
export function httpRequest(ports: TaskPorts): TaskHandler {
  return (task) => {
    const request = readRequest(task, ports.outgoing);
    return (context) => sendTaskRequest(task, request, { ports, context });
  };
}

function readRequest({ config }: QueueTask, outgoing: Outgoing): TaskRequest {
  const { url, method, headers: given, body, repeatable } = readConfig(configSchema, config);
  const isBodyless = WITHOUT_BODY.includes(method);
  const headers = readHeaders(given, outgoing);
  const request = { url, method, headers, isRepeatable: isBodyless || repeatable === true };
  if (isBodyless || body === undefined || body === null) return request;
  const [type, text] =
    typeof body === 'string' ? ['text/plain; charset=utf-8', body] : ['application/json', JSON.stringify(body)];
  return { ...request, headers: { 'content-type': type, ...headers }, body: text };
}

function readHeaders(given: Readonly<Record<string, string>>, { headerIssue }: Outgoing): Record<string, string> {
  const entries = Object.entries(given).map(([name, value]): [string, string] => {
    const issue = headerIssue(name, value);
    if (issue !== undefined) throw new RuntimeError('INPUT_INVALID', { issues: `config.headers.${name} ${issue}` });
    return [name.toLowerCase(), value];
  });
  return Object.fromEntries(entries);
}
