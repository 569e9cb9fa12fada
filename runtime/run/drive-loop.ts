import type { UsageMeter } from '../billing/usage-meter';
import type { LoopOutcome } from '../contracts/outcome';
import { RuntimeError } from '../errors/runtime-error';
import { toExecution } from '../ledger/audit-line';
import { identityOf } from '../ledger/identity';
import type { RunRecord } from '../ledger/run-record';
import { runLoop } from '../loop/run-loop';
import type { JsonValue } from '../util/json';
import { guardCalls, spentSoFar } from './guard-calls';
import { journalOutcomes } from './journal-outcomes';
import { chooseTools, loadTenant } from './plan-run';
import type { ClaimedRun } from './run-context';

interface RunTools {
  readonly meter: UsageMeter;
  readonly record: RunRecord;
  readonly variables: Map<string, JsonValue>;
}

/** Runs the loop of a claimed run; what it does is put on record as it goes. */
export function driveLoop(run: ClaimedRun, { meter, record, variables }: RunTools): Promise<LoopOutcome> {
  const { parts, task, plan, request, deadline, before } = run;
  const { signal } = deadline;
  const keepOutcome = journalOutcomes(record, variables);
  return runLoop({
    model: plan.model,
    format: plan.format,
    toolset: plan.toolset,
    settings: plan.settings,
    messages: run.messages,
    keepsOpening: run.options.connected?.memory !== undefined,
    resume: before?.resume,
    meta: { ...task.meta, task_id: task.task_id, trace_id: task.trace_id, agent: task.config.agent },
    variables,
    egress: run.options.egress,
    redact: run.redact,
    signal,
    stopError: run.stopError,
    onModelCallEnd: (call) => {
      const ended = meter.add({ ...call, errorCode: call.error?.code });
      if (ended !== undefined) record.keep(ended);
    },
    onStepOpen: (step) => record.journal({ ...step, spent: spentSoFar(meter, before) }),
    beforeNext: guardCalls({
      plan,
      record,
      meter,
      signal,
      before,
      chooseAgain: async () => {
        const snapshot = await loadTenant(parts.tenants, task, run.options.connected);
        if (!snapshot.tenant.isActive) throw new RuntimeError('TENANT_INACTIVE', { tenantId: snapshot.tenant.id });
        const { toolset } = await chooseTools({ ...request, snapshot }, plan.selected.tier.code);
        return toolset;
      },
    }),
    onToolCallEnd: (call) => {
      record.audit(toExecution(call, { redact: run.redact, identity: identityOf(task.meta) }));
      keepOutcome(call);
    },
    emit: run.emit,
  });
}
