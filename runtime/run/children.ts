import { createHash } from 'node:crypto';

import { DEFAULTS } from '../config/runtime-config';
import type { Family } from '../contracts/ledger/ledger';
import type { AgentResult } from '../contracts/result';
import type { HostOptions } from '../contracts/run';
import type { ChildCall, ChildConfig, ToolRun } from '../contracts/tools/tool-run';
import type { ToolOutput } from '../contracts/tools/tool-shapes';
import { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { toolFailure } from '../errors/tool-failure';
import { readTask, type ReadyTask } from '../tasks/read-task';
import { startDeadline } from '../util/abort';
import { monotonicMs } from '../util/clock';
import type { Recorder } from './recorder';
import type { ClaimedRun, Run } from './run';
import { timeoutOf } from './stop-error';

/** The runs that work for the tool calls of a run. */
interface Children {
  readonly start: NonNullable<ToolRun['startChild']>;
  /** Resolves when all of them have ended: their usage is on the account then. */
  readonly ended: () => Promise<void>;
}

/** `runTask` runs a task that was read. */
export function startChildren(
  run: ClaimedRun,
  { account, bill }: Recorder,
  runTask: (child: Run) => Promise<AgentResult>,
): Children {
  const running = new Set<Promise<unknown>>();
  const ask = async (config: ChildConfig, call: ChildCall): Promise<ToolOutput> => {
    const family = familyOf(run, call);
    const levels = DEFAULTS.levelsOfChildren;
    if (family.above.length > levels) return toolFailure('TOOL_TOO_DEEP', { levels });
    const request = childTask(run, config, call);
    const deadline = startDeadline(timeoutOf(request), call.signal);
    const child = { request, host: childHost(run), startedAt: monotonicMs(), deadline };
    return toOutput(await runTask({ ...child, parent: { family, account, bill } }));
  };
  return {
    start: (config, call) => {
      const output = ask(config, call).catch((error: unknown) => failed(toRuntimeError(error)));
      running.add(output);
      return output.finally(() => running.delete(output));
    },
    ended: async () => {
      await Promise.all(running);
    },
  };
}

function familyOf({ key, parent }: ClaimedRun, { toolCallId: parentCallId }: ChildCall): Family {
  if (parent === undefined) return { rootTaskId: key.taskId, above: [key.runId], parentCallId };
  const { rootTaskId, above } = parent.family;
  return { rootTaskId, above: [...above, key.runId], parentCallId };
}

/** What a host gives one run alone stays with it: its listener, its memory and its answer's form. */
function childHost({ host, earlier }: ClaimedRun): HostOptions {
  const { mcpServers, egress, fresh } = host;
  // A run that goes on finds its children.
  return { mcpServers, egress, fresh: fresh === true && earlier === undefined };
}

function childTask(
  { key, request }: ClaimedRun,
  config: ChildConfig,
  { toolCallId, decided }: ChildCall,
): ReadyTask {
  const approval = decided && { run_id: decided.runId, decision: decided.decision };
  const { task_type, trace_id, meta } = request;
  const task = readTask({ task_id: childId(key.taskId, toolCallId), trace_id, task_type, config, meta });
  if (approval === undefined) return task;
  return { ...task, config: { ...task.config, approval }, decidedBy: decided?.decidedBy };
}

const MAX_ID_LENGTH = 200;
const PLAIN = /^[\x21-\x7e]+$/;

/** The id of the task that works for a call: the same whenever the call is made. */
function childId(taskId: string, toolCallId: string): string {
  const id = `${taskId}/${toolCallId}`;
  if (id.length <= MAX_ID_LENGTH && PLAIN.test(toolCallId)) return id;
  const digest = createHash('sha256').update(JSON.stringify([taskId, toolCallId])).digest('hex');
  return `${taskId.slice(0, MAX_ID_LENGTH - digest.length - 1)}/${digest}`;
}

function toOutput({ status, result, structured_output, warnings, awaiting, run_id }: AgentResult): ToolOutput {
  if (awaiting !== undefined) return { isError: false, value: null, awaiting: { ...awaiting, runId: run_id } };
  const told = warnings.map(({ hint = '', ...warning }) => ({ ...warning, hint }));
  if (status === 'completed') return { isError: false, value: structured_output ?? result.text, warnings: told };
  return { isError: false, value: { status, text: result.text }, warnings: told };
}

/** What its run lacked is the child's, not the model's to mend; what it said so far may help. */
function failed(error: RuntimeError): ToolOutput {
  const { code, message, hint } = error.toSummary();
  return { isError: true, code: error.code, value: { code, message, hint } };
}
