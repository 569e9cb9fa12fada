import { createHash } from 'node:crypto';

import { DEFAULTS } from '../config/runtime-config';
import type { Family } from '../contracts/ledger/ledger';
import type { AgentResult } from '../contracts/result';
import type { HostOptions } from '../contracts/run';
import type { ChildCall, ChildConfig, ToolRun } from '../contracts/tools/tool-run';
import type { ToolOutput } from '../contracts/tools/tool-shapes';
import type { ErrorSummary, RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { toolFailure } from '../errors/tool-failure';
import type { LoopObserver, RunBelow } from '../loop/loop-contract';
import { readTask, type ReadyTask } from '../tasks/read-task';
import { startDeadline } from '../util/abort';
import { monotonicMs } from '../util/clock';
import { clipText } from '../util/text/clip-text';
import { rulesOfTask } from './plan/plan-run';
import type { Recorder } from './recorder';
import type { ClaimedRun, Parent, Run } from './run';
import { timeoutOf } from './stop-error';

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
  const running = new Set<Promise<unknown>>();
  const started = new Map<string, number>();
  const found: Found = { below: new Map(), warnings: [] };
  const over = new AbortController();
  const ask = async (config: ChildConfig, call: ChildCall): Promise<ToolOutput> => {
    const { toolCallId, signal } = call;
    const family = familyOf(run, toolCallId);
    const refusal = over.signal.aborted ? 'TOOL_CANCELLED' : family.above.length > LEVELS ? 'TOOL_TOO_DEEP' : undefined;
    if (refusal !== undefined) return toolFailure(refusal, { tool: 'startChild', levels: LEVELS });
    const place = (started.get(toolCallId) ?? 0) + 1;
    started.set(toolCallId, place);
    const { request, isKnown } = childTask(run, config, { toolCallId, place });
    await account.yieldStep();
    const stops = AbortSignal.any([signal, run.deadline.signal, over.signal]);
    const deadline = startDeadline(timeoutOf(request), stops);
    const child = { request, host: childHost(run), startedAt: monotonicMs(), deadline };
    const claim = { isHeld: false };
    try {
      const result = await runTask({ ...child, parent: { family, account, bill, claim, ...passedOn(run) } });
      note(found, result);
      const { awaiting, run_id: runId, task_id: taskId } = result;
      if (awaiting !== undefined) stand(found, toolCallId, { kind: 'waits', awaiting, taskId, runId });
      return toOutput(result);
    } catch (thrown) {
      const error = toRuntimeError(thrown);
      if (isKnown && !claim.isHeld) stand(found, toolCallId, { kind: 'broken', error });
      note(found, error.result ?? {});
      return failed(error);
    }
  };
  return {
    start: (config, call) => {
      const output = ask(config, call).catch((error: unknown) => failed(toRuntimeError(error)));
      running.add(output);
      return output.finally(() => running.delete(output));
    },
    below: (toolCallId) => found.below.get(toolCallId),
    ended: async () => {
      over.abort();
      await Promise.all(running);
      return found.warnings;
    },
  };
}

interface Found {
  readonly below: Map<string, RunBelow>;
  readonly warnings: ErrorSummary[];
}

function note(found: Found, { warnings = [] }: Partial<AgentResult>): void {
  found.warnings.push(...warnings.map(({ hint = '', ...warning }) => ({ ...warning, hint })));
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

/** What is wired to one run alone stays with it: its listener, memory, tools and answer's form. */
function childHost({ host, earlier }: ClaimedRun): HostOptions {
  const { mcpServers, egress, fresh, connected: { model, fallback } = {} } = host;
  // A run that goes on finds its children.
  return { mcpServers, egress, connected: { model, fallback }, fresh: fresh === true && earlier === undefined };
}

function passedOn({ request: { config }, plan, parent }: ClaimedRun): Pick<Parent, 'rules' | 'tier'> {
  return { rules: [...(parent?.rules ?? []), rulesOfTask(config)], tier: plan.selected.tier.code };
}

/** The task, with what a person has decided on the run of it that waited; `isKnown` where such a run is on record. */
function childTask(
  { key, request, earlier }: ClaimedRun,
  config: ChildConfig,
  { toolCallId, place }: { readonly toolCallId: string; readonly place: number },
): { readonly request: ReadyTask; readonly isKnown: boolean } {
  const { task_type, trace_id, meta } = request;
  const task = readTask({
    ...{ task_id: childId(key.taskId, toolCallId, place), trace_id, task_type, meta },
    config: { ...config, approval: undefined },
  });
  const approvals = earlier?.approvals ?? {};
  const below = Object.hasOwn(approvals, toolCallId) ? approvals[toolCallId]?.below : undefined;
  if (below?.taskId !== task.task_id) return { request: task, isKnown: false };
  const { runId: run_id, decision, decidedBy } = below;
  if (decision === undefined) return { request: task, isKnown: true };
  const approval = { run_id, decision };
  return { request: { ...task, config: { ...task.config, approval }, decidedBy }, isKnown: true };
}

const MAX_ID_LENGTH = 200;
const PLAIN = /^[\w.:-]+$/;

/** The id of the task that works for a call: the same whenever the call is made. */
function childId(taskId: string, toolCallId: string, place: number): string {
  const id = `${taskId}/${toolCallId}`;
  if (place === 1 && id.length <= MAX_ID_LENGTH && PLAIN.test(toolCallId)) return id;
  const digest = createHash('sha256')
    .update(JSON.stringify([taskId, toolCallId, place]))
    .digest('hex');
  return `${taskId.slice(0, MAX_ID_LENGTH - digest.length - 1).toWellFormed()}/${digest}`;
}

function toOutput({ status, result, structured_output: structured }: AgentResult): ToolOutput {
  if (status !== 'completed') return { isError: false, value: { status, text: bounded(result.text) } };
  const isLong = structured !== undefined && JSON.stringify(structured).length > DEFAULTS.maxToolOutputBytes;
  return { isError: false, value: structured === undefined || isLong ? bounded(result.text) : structured };
}

function bounded(given: string): string {
  const { text, isCut } = clipText(given, DEFAULTS.maxToolOutputBytes);
  return isCut ? `${text}…` : text;
}

function failed(error: RuntimeError): ToolOutput {
  const { code, message, hint } = error.toSummary();
  return { isError: true, code: error.code, value: { code, message, hint } };
}
