import type { ReadyTask } from '../../tasks/read-task';
import type { Run, RunEnvironment } from '../run';
import { refuseIncomplete } from './needs';

/**
 * The task of a waiting run, when that is what an approval is for: it goes on with the request that it had, whatever stands
 * beside the approval. Rules and limits of the tenant are those of now. Rejects with APPROVAL_INCOMPLETE.
 */
export async function taskToRun({ ledger, services }: RunEnvironment, { task, host }: Run): Promise<ReadyTask> {
  const { approval, timeout_seconds } = task.config;
  if (approval === undefined) return task;
  const { tenant_id: tenantId, user_id: decidedBy } = task.meta;
  const saved = await ledger.findSaved({ tenantId, runId: approval.run_id });
  if (saved === undefined) return { ...task, decidedBy };
  refuseIncomplete(approval.run_id, saved, { host, services });
  const { config, meta } = saved.task;
  return {
    ...task,
    decidedBy,
    config: { ...config, timeout_seconds, approval },
    meta: { ...meta, tenant_id: tenantId },
  };
}
