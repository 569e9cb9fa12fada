import type { LoopOutcome } from '../contracts/outcome';
import type { LoopInput } from '../loop/loop-contract';
import { runLoop } from '../loop/run-loop';
import { nothingYet } from '../loop/run-state';
import type { Children } from './children/children-of-run';
import { answerOfCall } from './modes/first-call';
import type { Planning } from './modes/follow-plan';
import type { Recorder } from './recorder';
import type { ClaimedRun } from './run';
import { stopError } from './stop-error';

/** Runs the loop of a claimed run under the eyes of `recorder`, until its children have ended too. Never rejects. */
export async function driveLoop(
  run: ClaimedRun,
  recorder: Recorder,
  { children, planning }: { readonly children: Children; readonly planning?: Planning },
): Promise<LoopOutcome> {
  const { request, plan, host } = run;
  const { part } = run.parent ?? {};
  const outcome = await runLoop({
    model: plan.model,
    format: plan.format,
    toolset: plan.toolset,
    // An answer that must have a form may be asked for again, so nothing of it is shown before.
    settings: { ...plan.settings, streams: host.stream === true && plan.format === undefined },
    start: startOf(run),
    scope: {
      run: { key: run.key, account: recorder.account, startChild: children.start, skill: part?.skill, plan: planning },
      meta: { ...request.meta, task_id: request.task_id, trace_id: request.trace_id, agent: plan.config.agent },
      variables: run.variables,
      timeZone: run.tenant.tenant.settings.timeZone,
      egress: host.egress,
      redact: run.redact,
    },
    stop: { signal: run.deadline.signal, error: () => stopError(run) },
    observer: { ...recorder, prepareStep: refusing(run) ?? recorder.prepareStep, below: children.below },
    emit: run.emit,
  });
  const warnings = await children.ended();
  tellVariables(run, outcome);
  const answered = part?.maxTurns === 0 ? answerOfCall(outcome) : outcome;
  return warnings.length === 0 ? answered : { ...answered, warnings: [...(answered.warnings ?? []), ...warnings] };
}

function startOf({ host, plan, opening, parent, earlier }: ClaimedRun): LoopInput['start'] {
  const { session, config, agent, instructions } = plan;
  const known = [host.connected?.memory, session, config.messages, agent, instructions[0], parent?.part];
  return {
    pauses: host.pauses,
    messages: opening,
    keepsOpening: known.some((one) => one !== undefined),
    // The first call of a run that has waited for its session is still to be opened.
    progress: earlier ?? (session && nothingYet(opening)),
  };
}

function refusing({ refusal }: ClaimedRun): Recorder['prepareStep'] {
  return refusal && (() => Promise.reject(refusal));
}

/** Tells the run that this one works for. A run that waits has not ended. */
function tellVariables({ parent, variables }: ClaimedRun, { awaiting }: LoopOutcome): void {
  if (parent !== undefined && awaiting === undefined) parent.claim.variables = variables;
}
