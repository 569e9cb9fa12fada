import type { Log } from '../../contracts/event';
import type { AgentResult } from '../../contracts/result';
import type { ErrorSummary } from '../../errors/runtime-error';
import { toolFailure } from '../../errors/tool-failure';
import { readTask } from '../../tasks/read-task';
import type { StartBelow } from '../../toolsets/single-calls/call-tenant-tool';
import { startDeadline } from '../../util/abort';
import { monotonicMs } from '../../util/clock';
import type { Run } from '../run';
import { timeoutOf } from '../stop-error';
import { childId, failed, keepChildren, settled, toOutput, warningsOf } from './keep-children';

/**
 * Runs tasks of agents for calls outside a run, on the line of the bill that the call has. Nobody waits there for a person, so tools
 * that need an approval are left out. `runTask` runs a task that was read.
 */
export function childrenOfCalls(runTask: (child: Run) => Promise<AgentResult>, log?: Log): StartBelow {
  return ({ run, tier, meta, egress, logger = log, signal }) => {
    const { key, family, bill, account } = run;
    const warnings: ErrorSummary[] = [];
    const { start, ended } = keepChildren(async (config, call, { place, over }) => {
      if (call.part !== undefined) return toolFailure('TOOL_OUTSIDE_TASK', {});
      const { toolCallId } = call;
      const request = readTask({
        task_id: childId(key.taskId, { toolCallId, place }),
        config: { ...config, approval: undefined, session_id: undefined },
        meta: { ...meta, tenant_id: key.tenantId },
      });
      const above = [...(family?.above ?? []), key.runId];
      const { result, error } = await settled(
        runTask({
          request,
          host: { egress, logger },
          startedAt: monotonicMs(),
          deadline: startDeadline(timeoutOf(request), AbortSignal.any([signal, call.signal, over])),
          parent: {
            family: { rootTaskId: family?.rootTaskId ?? key.taskId, above, parentCallId: toolCallId },
            ...{ account, bill, level: 1, isCounted: true, claim: { isHeld: false } },
            inherited: { rules: [], tier, isCostLimited: false, isUnattended: true },
          },
        }),
      );
      if (result !== undefined) warnings.push(...warningsOf(result));
      return error === undefined ? toOutput(result) : failed(error);
    });
    return { start, ended: () => ended().then(() => warnings) };
  };
}
