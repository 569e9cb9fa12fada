import type { ReadyTask } from '../../tasks/read-task';
import type { Run, RunEnvironment } from '../run';
import { refuseIncomplete } from './needs';

/**
 * The request of a waiting run, when that is what an approval is for: it goes on with the request that it had, whatever stands
 * beside the approval. Rules and limits of the tenant are those of now. Rejects with APPROVAL_INCOMPLETE.
 */
export async function requestToRun(
  { ledger, services }: RunEnvironment,
  { request, host, parent }: Run,
): Promise<Pick<Run, 'request' | 'began'>> {
  const { approval, timeout_seconds } = request.config;
  if (approval === undefined) return { request };
  const { tenant_id: tenantId, user_id } = request.meta;
  const decidedBy = parent === undefined ? user_id : request.decidedBy;
  const saved = await ledger.findSaved({ tenantId, runId: approval.run_id, rootTaskId: parent?.family.rootTaskId });
  if (saved === undefined) return { request: { ...request, decidedBy } };
  refuseIncomplete(approval.run_id, saved, { host, services });
  const { config, meta } = saved.task;
  const resumed: ReadyTask = {
    ...request,
    // Of the task that brings the approval, which is not read.
    leftOut: undefined,
    decidedBy,
    config: { ...config, timeout_seconds, approval },
    meta: { ...meta, tenant_id: tenantId },
  };
  return { request: resumed, began: saved.progress.agent ?? null };
}
