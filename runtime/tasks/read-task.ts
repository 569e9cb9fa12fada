import { agentTaskSchema, type AgentTask } from '../contracts/task';
import { describeIssues } from '../errors/describe-issues';
import { describeError, RuntimeError, type ErrorSummary } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { newId } from '../util/clock';
import { isDeeperThan, MAX_JSON_DEPTH } from '../util/json';

/** A task that can be run: with ids, and a tenant id that is one. */
export type ReadyTask = AgentTask & { readonly task_id: string; readonly trace_id: string };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const SHOWN_ID_LENGTH = 60;

/** Checks what came from outside. Throws INPUT_INVALID that names the fields, or TENANT_ID_INVALID. */
export function readTask(input: unknown): ReadyTask {
  const parsed = agentTaskSchema.safeParse(input);
  if (!parsed.success) throw new RuntimeError('INPUT_INVALID', { issues: describeIssues(parsed.error, 'the task') });
  const task = parsed.data;
  refuseUnsendable(task.config.context);
  return {
    ...task,
    meta: { ...task.meta, tenant_id: readTenantId(task.meta.tenant_id) },
    task_id: task.task_id ?? newId(),
    trace_id: task.trace_id ?? newId(),
  };
}

/** The id as the database writes it. Throws INPUT_INVALID when there is none, TENANT_ID_INVALID when it is no UUID. */
export function readTenantId(given: unknown): string {
  if (typeof given !== 'string') throw new RuntimeError('INPUT_INVALID', { issues: 'meta.tenant_id is missing' });
  const tenantId = given.trim();
  if (UUID.test(tenantId)) return tenantId.toLowerCase();
  throw new RuntimeError('TENANT_ID_INVALID', { tenantId: tenantId.slice(0, SHOWN_ID_LENGTH) });
}

/** JSON from outside may be nested deeply enough to overflow the stack; a library's caller may pass what is no JSON. */
function refuseUnsendable(context: unknown): void {
  const refuse = (issue: string): RuntimeError =>
    new RuntimeError('INPUT_INVALID', { issues: `config.context ${issue}` });
  if (isDeeperThan(context, MAX_JSON_DEPTH)) throw refuse(`is nested deeper than ${MAX_JSON_DEPTH} levels`);
  try {
    JSON.stringify(context);
  } catch (error) {
    throw refuse(`is not JSON (${errorText(error)})`);
  }
}

/** A single run gives its result to its caller and nobody else; who waits for a callback must not do so in vain. */
export function callbackWarnings(task: AgentTask): readonly ErrorSummary[] {
  if (task.callback === undefined || Object.keys(task.callback).length === 0) return [];
  return [describeError('CALLBACK_NOT_DELIVERED', { reason: 'a single run writes nothing to Redis' })];
}
