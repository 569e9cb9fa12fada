import { type QueueTask, tenantOf } from '../contracts/queue';
import type { OutgoingRules } from '../contracts/tools/outgoing';
import type { EgressFilter } from '../contracts/tools/tool';
import type { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import type { RulesOf } from './address-rules';
import type { Callbacks } from './answers/callbacks';
import { failureReport } from './answers/task-report';
import { readTenantId } from './read-task';

export interface FailureOptions {
  readonly signal?: AbortSignal;
  readonly egress?: EgressFilter;
}

/** Writes the failure of a task to its callback, once. Rejects like a delivery. */
export type DeliverFailure = (task: QueueTask, error: RuntimeError, options?: FailureOptions) => Promise<void>;

/** Another request answers under the same id, or the answer stands there already, or must not be written. */
const NOT_TOLD: readonly string[] = ['TASK_CONFLICT', 'CALLBACK_FAILED', 'CALLBACK_REFUSED', 'CALLBACK_KEY_FORBIDDEN'];

export function createWriteFailure(parts: {
  readonly callbacks: Callbacks;
  readonly rulesOf: RulesOf;
}): DeliverFailure {
  return async (task, error, { signal, egress } = {}) => {
    if (error.scope === 'attempt' || NOT_TOLD.includes(error.code)) return;
    const isHostForbidden = error.code === 'CALLBACK_HOST_FORBIDDEN';
    const rules = isHostForbidden ? undefined : await webhookRules(parts.rulesOf, task, egress);
    const addressed = { task, tenantId: tenantOf(task), rules };
    await parts.callbacks.deliver(addressed, failureReport(task, error), { signal, isFailure: true });
  };
}

/**
 * The rules for webhooks. For a tenant that is not there, or whose rules cannot be read, none is sent; the keys are
 * written all the same.
 */
async function webhookRules(
  rulesOf: RulesOf,
  { callback, meta }: QueueTask,
  egress: EgressFilter | undefined,
): Promise<OutgoingRules | undefined> {
  try {
    // Whatever its type: nothing but its webhook is sent.
    const tenantId = readTenantId(meta.tenant_id);
    return (await rulesOf({ task_type: '', callback }, { tenantId, egress })).webhooks;
  } catch (thrown) {
    const error = toRuntimeError(thrown);
    if (error.retryable) throw error;
    return undefined;
  }
}
