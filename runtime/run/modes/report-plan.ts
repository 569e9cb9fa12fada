import type { LoopProgress } from '../../contracts/ledger/progress';
import type { LoopOutcome } from '../../contracts/outcome';
import type { PlanReport, PlanStepReport } from '../../contracts/result';
import type { PlannedStep, StepAttempt } from '../../contracts/tools/plan';
import { PLAN_TOOLS } from '../../toolsets/plan-source';
import { pendingCalls } from './plan-on-record';
import type { PlanState } from './plan-state';

/** The plan of a run for its result; undefined where none was made. */
export function reportPlan({ plans, at }: PlanState, { progress }: LoopOutcome): PlanReport | undefined {
  const [last, ...replaced] = plans
    .map(({ steps, tries }) => ({ steps: steps.map((step, index) => reportStep(step, tries[index])) }))
    .reverse();
  if (last === undefined) return undefined;
  const isWaiting = isStepWaiting(progress);
  const steps = last.steps.map((step, index) => (isWaiting && index === at ? waiting(step) : step));
  return { steps, ...(replaced.length === 0 ? {} : { replaced: replaced.reverse() }) };
}

/** Reports whether the call that waits is one that does a step, and waits for that step. */
function isStepWaiting(progress: LoopProgress | undefined): boolean {
  const { asked, approvals = {} } = progress ?? {};
  const call = pendingCalls(progress).find(({ id }) => id === asked);
  if (call === undefined || !PLAN_TOOLS.includes(call.function.name)) return false;
  return approvals[call.id]?.below !== undefined;
}

function reportStep(step: PlannedStep, tries: readonly StepAttempt[] = []): PlanStepReport {
  const last = tries.at(-1);
  const [first] = tries.length > 1 ? tries : [];
  return { ...step, ...(last ?? { status: 'pending' }), ...(first && { retried: first }) };
}

/** A step whose run waits has no result, whatever was returned for it. */
function waiting({ result: _open, ...step }: PlanStepReport): PlanStepReport {
  return { ...step, status: 'waiting' };
}
