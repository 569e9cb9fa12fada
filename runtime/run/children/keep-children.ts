import { createHash } from 'node:crypto';

import { DEFAULTS } from '../../config/runtime-config';
import type { AgentResult } from '../../contracts/result';
import type { ChildCall, ChildConfig, ToolRun } from '../../contracts/tools/tool-run';
import type { ToolOutput } from '../../contracts/tools/tool-shapes';
import type { ErrorSummary, RuntimeError } from '../../errors/runtime-error';
import { toRuntimeError } from '../../errors/to-runtime-error';
import { toolFailure } from '../../errors/tool-failure';
import { clipText } from '../../util/text/clip-text';

interface KeptChildren {
  readonly start: ToolRun['startChild'];
  /** Stops those that nobody waits for. Resolves when all have ended: their usage is on the account then. */
  readonly ended: () => Promise<void>;
}

interface PlaceOfChild {
  /** Its place among the tasks that the call has started. */
  readonly place: number;
  /** Aborts when nobody waits any more. */
  readonly over: AbortSignal;
}

/** Runs tasks with `ask` for tool calls, and knows those under way. */
export function keepChildren(
  ask: (config: ChildConfig, call: ChildCall, place: PlaceOfChild) => Promise<ToolOutput>,
): KeptChildren {
  const running = new Set<Promise<unknown>>();
  const started = new Map<string, number>();
  const over = new AbortController();
  return {
    start: (config, call) => {
      if (over.signal.aborted) return Promise.resolve(toolFailure('TOOL_CANCELLED', { tool: 'startChild' }));
      const place = (started.get(call.toolCallId) ?? 0) + 1;
      started.set(call.toolCallId, place);
      const asked = ask(config, call, { place, over: over.signal });
      const output = asked.catch((error: unknown) => failed(toRuntimeError(error)));
      running.add(output);
      return output.finally(() => running.delete(output));
    },
    ended: async () => {
      over.abort();
      await Promise.all(running);
    },
  };
}

type Settled =
  | { readonly result: AgentResult; readonly error?: undefined }
  | { readonly result?: AgentResult; readonly error: RuntimeError };

/** Returns the end of a run, which has a result also where it failed once it was claimed. */
export function settled(run: Promise<AgentResult>): Promise<Settled> {
  return run.then(
    (result) => ({ result }),
    (thrown: unknown) => {
      const error = toRuntimeError(thrown);
      return { error, result: error.result as AgentResult | undefined };
    },
  );
}

const MAX_ID_LENGTH = 200;
const PLAIN = /^[\w.:-]+$/;

/** The id of the task that works for a call: the same whenever the call is made. */
export function childId(
  taskId: string,
  { toolCallId, place }: { readonly toolCallId: string; readonly place: number },
): string {
  const id = `${taskId}/${toolCallId}`;
  if (place === 1 && id.length <= MAX_ID_LENGTH && PLAIN.test(toolCallId)) return id;
  const digest = createHash('sha256')
    .update(JSON.stringify([taskId, toolCallId, place]))
    .digest('hex');
  return `${taskId.slice(0, MAX_ID_LENGTH - digest.length - 1).toWellFormed()}/${digest}`;
}

/** The answer of a run as the output of the tool that has asked for it. */
export function toOutput({ status, result, structured_output: structured }: AgentResult): ToolOutput {
  if (status !== 'completed') return { isError: false, value: { status, text: bounded(result.text) } };
  const isLong = structured !== undefined && JSON.stringify(structured).length > DEFAULTS.maxToolOutputBytes;
  return { isError: false, value: structured === undefined || isLong ? bounded(result.text) : structured };
}

/** The warnings of a run, with the name of its agent where they do not say it themselves. */
export function warningsOf({ agent, warnings }: AgentResult): readonly ErrorSummary[] {
  return warnings.map(({ code, message, hint = '' }) => {
    const isTold = agent === undefined || message.includes(`"${agent.name}"`);
    return { code, message: isTold ? message : `Agent "${agent.name}": ${message}`, hint };
  });
}

function bounded(given: string): string {
  const { text, isCut } = clipText(given, DEFAULTS.maxToolOutputBytes);
  return isCut ? `${text}…` : text;
}

/** The failure of a run as the output of the tool. */
export function failed(error: RuntimeError): ToolOutput {
  const { code, message, hint } = error.toSummary();
  return { isError: true, code: error.code, value: { code, message, hint } };
}
