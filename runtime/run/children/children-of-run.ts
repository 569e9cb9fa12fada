import { DEFAULTS } from '../../config/runtime-config';
import type { Family } from '../../contracts/ledger/ledger';
import type { AgentResult, RunShare } from '../../contracts/result';
import type { HostOptions } from '../../contracts/run';
import type { Tool } from '../../contracts/tools/tool';
import type { ChildCall, ChildConfig, RunPart, ToolRun } from '../../contracts/tools/tool-run';
import type { ToolOutput } from '../../contracts/tools/tool-shapes';
import { type ErrorSummary, RuntimeError } from '../../errors/runtime-error';
import { toolFailure } from '../../errors/tool-failure';
import type { LoopObserver, RunBelow, WorkBelow } from '../../loop/loop-contract';
import { readTask, type ReadyTask } from '../../tasks/read-task';
import { startDeadline } from '../../util/abort';
import { monotonicMs } from '../../util/clock';
import { handedDown, settingsOfPart, takeVariables } from '../plan/inherit';
import type { Recorder } from '../recorder';
import type { ClaimedRun, Run } from '../run';
import { timeoutOf } from '../stop-error';
import { childId, failed, keepChildren, settled, toOutput, warningsOf } from './keep-children';

/** The runs that work for the tool calls of a run. */
export interface Children {
  readonly start: ToolRun['startChild'];
  readonly below: NonNullable<LoopObserver['below']>;
  /** Stops those that nobody waits for. Resolves with all warnings when all have ended: their usage is on the account then. */
  readonly ended: () => Promise<readonly ErrorSummary[]>;
}

const LEVELS = DEFAULTS.levelsOfChildren;

/** `runTask` runs a task that was read. */
export function startChildren(
  run: ClaimedRun,
  { account, bill }: Recorder,
  runTask: (child: Run) => Promise<AgentResult>,
): Children {
  const found: Found = { below: new Map(), runs: new Map(), takenUp: new Set(), warnings: [] };
  const { start, ended } = keepChildren(async (config, call, { place, over }) => {
    const { toolCallId, signal, part } = call;
    const family = familyOf(run, toolCallId);
    const level = levelOf(run, part);
    if (level > LEVELS) return toolFailure('TOOL_TOO_DEEP', { levels: LEVELS });
    const { request, isKnown } = childTask(run, config, { toolCallId, place });
    await account.yieldStep();
    const stops = AbortSignal.any([signal, run.deadline.signal, over]);
    const deadline = startDeadline(timeoutOf(request), stops);
    if (isKnown) found.takenUp.add(toolCallId);
    const child = { request, ...beganFor(run, part), host: childHost(run, call), startedAt: monotonicMs(), deadline };
    const claim: NonNullable<Run['parent']>['claim'] = { isHeld: false };
    const given = partOf(run, part);
    const { result, error } = await settled(
      runTask({ ...child, parent: { family, account, bill, claim, level, ...given } }),
    );
    if (isStep(part)) {
      found.warnings.push(...takeVariables(run, given.inherited, { now: claim.variables, result }));
    }
    if (error === undefined) return answered(found, toolCallId, result);
    if (isKnown && !claim.isHeld) stand(found, toolCallId, { kind: 'broken', error });
    return broken(found, toolCallId, error);
  });
  return {
    start,
    below: (id, tool) => workBelow(run, found, { id, tool }),
    ended: async () => {
      await ended();
      return found.warnings;
    },
  };
}

/** A part of a run is no level: what it may ask is what its run may ask. */
function levelOf({ parent }: ClaimedRun, part: RunPart | undefined): number {
  return (parent?.level ?? 0) + (part === undefined ? 1 : 0);
}

interface Found {
  readonly below: Map<string, RunBelow>;
  readonly runs: Map<string, readonly RunShare[]>;
  /** Calls whose run that waited is continued. */
  readonly takenUp: Set<string>;
  readonly warnings: ErrorSummary[];
}

/** Skills at work run beside other calls, and keep their variables to themselves. */
function isStep(part: RunPart | undefined): boolean {
  return part !== undefined && part.skill === undefined;
}

/** A part of a run is the agent of the run as it is there. */
function beganFor({ plan }: ClaimedRun, part: RunPart | undefined): Pick<Run, 'began'> {
  return part === undefined ? {} : { began: plan.agent ?? null };
}

function partOf(run: ClaimedRun, part: RunPart | undefined): Pick<NonNullable<Run['parent']>, 'inherited' | 'part'> {
  const inherited = handedDown(run);
  return part === undefined ? { inherited } : { inherited, part: { ...part, settings: settingsOfPart(run, part) } };
}

function workBelow(run: ClaimedRun, found: Found, call: EndedCall): WorkBelow {
  return { open: found.below.get(call.id) ?? leftAlone(run, found, call), runs: found.runs.get(call.id) };
}

interface EndedCall {
  readonly id: string;
  readonly tool: Tool | undefined;
}

/** Returns a reason if a run of a skill waits for the call and was not continued, since the skill is gone or is read now. */
function leftAlone({ earlier }: ClaimedRun, { takenUp }: Found, { id, tool }: EndedCall): RunBelow | undefined {
  if (tool?.loadsSkills !== true || takenUp.has(id)) return undefined;
  const approvals = earlier?.approvals ?? {};
  const approval = Object.hasOwn(approvals, id) ? approvals[id] : undefined;
  if (approval?.below === undefined) return undefined;
  const details = { tool: tool.definition.name, reason: 'the skill is gone, or does not run by itself any more' };
  return { kind: 'broken', error: new RuntimeError('APPROVAL_CALL_BLOCKED', details) };
}

function answered(found: Found, toolCallId: string, result: AgentResult): ToolOutput {
  note(found, toolCallId, result);
  return toOutput(result);
}

/** Keeps what a run that works for the call has ended with. */
function note(found: Found, toolCallId: string, result: AgentResult): void {
  const { awaiting, run_id: runId, task_id: taskId, agent, tokens, cost_usd } = result;
  found.warnings.push(...warningsOf(result));
  if (awaiting !== undefined) {
    stand(found, toolCallId, { kind: 'waits', awaiting, taskId, runId });
    return;
  }
  const name = agent === undefined ? {} : { agent: agent.name };
  const share: RunShare = { task_id: taskId, run_id: runId, ...name, tokens: tokens.total, cost_usd };
  found.runs.set(toolCallId, [...(found.runs.get(toolCallId) ?? []), share]);
}

/** Failures of the whole family: another process continues it, or a person has decided on a call that is blocked. */
const OF_FAMILY: ReadonlySet<string> = new Set(['RUN_TAKEN_OVER', 'APPROVAL_CALL_BLOCKED']);

function broken(found: Found, toolCallId: string, error: RuntimeError): ToolOutput {
  if (OF_FAMILY.has(error.code)) stand(found, toolCallId, { kind: 'broken', error });
  if (error.result !== undefined) note(found, toolCallId, error.result as AgentResult);
  else if (error.category === 'tenant') found.warnings.push(error.toSummary());
  return failed(error);
}

/** Keeps why a call has no outcome: of several tasks that it has started, the first one that waits is asked about first. */
function stand({ below }: Found, toolCallId: string, why: RunBelow): void {
  if (!below.has(toolCallId)) below.set(toolCallId, why);
}

function familyOf({ key, parent }: ClaimedRun, parentCallId: string): Family {
  if (parent === undefined) return { rootTaskId: key.taskId, above: [key.runId], parentCallId };
  const { rootTaskId, above } = parent.family;
  return { rootTaskId, above: [...above, key.runId], parentCallId };
}

/** The host of a child. Memory and answer's form stay with the parent, and so do its tools, but for its own parts. */
function childHost({ host, earlier, emit }: ClaimedRun, { toolCallId, part }: ChildCall): HostOptions {
  const { mcpServers, egress, logger, fresh = false, connected: { model, fallback, tools } = {} } = host;
  return {
    ...{ mcpServers, egress, logger },
    connected: { model, fallback, tools: part === undefined ? undefined : tools },
    onEvent: host.onEvent && ((event) => emit({ type: 'run-below', toolCallId, event })),
    // A run that goes on finds its children.
    fresh: fresh && earlier === undefined,
  };
}

/** The task, with what a person has decided on the run of it that waited; `isKnown` where such a run is on record. */
function childTask(
  { key, request, earlier }: ClaimedRun,
  config: ChildConfig,
  { toolCallId, place }: { readonly toolCallId: string; readonly place: number },
): { readonly request: ReadyTask; readonly isKnown: boolean } {
  const { task_type, trace_id, meta } = request;
  const task = readTask({
    ...{ task_id: childId(key.taskId, { toolCallId, place }), trace_id, task_type, meta },
    config: { timeout_seconds: request.config.timeout_seconds, ...config, approval: undefined, session_id: undefined },
  });
  const approvals = earlier?.approvals ?? {};
  const below = Object.hasOwn(approvals, toolCallId) ? approvals[toolCallId]?.below : undefined;
  if (below?.taskId !== task.task_id) return { request: task, isKnown: false };
  const { runId: run_id, decision, decidedBy } = below;
  if (decision === undefined) return { request: task, isKnown: true };
  const approval = { run_id, decision };
  return { request: { ...task, config: { ...task.config, approval }, decidedBy }, isKnown: true };
}
