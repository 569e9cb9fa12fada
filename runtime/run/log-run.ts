import type { Log, OnEvent, RunEvent } from '../contracts/event';
import type { RunKey } from '../contracts/ledger/ledger';
import type { ReadyTask } from '../tasks/read-task';
import type { Run } from './run';

/** Tells the listener and the log of a run what happens, up to its end: a model that was given up may go on speaking. */
export function emitOf({ host: { onEvent, logger }, request }: Pick<Run, 'host' | 'request'>, key: RunKey): OnEvent {
  const tell = safely(onEvent);
  const write = safely(logger && logRun(logger, key, request));
  let isOver = false;
  return (event) => {
    if (isOver) return;
    isOver = event.type === 'run-end';
    write(event);
    tell(event);
  };
}

/** A listener that fails must not end a run that costs money, nor the process. */
function safely(onEvent: OnEvent | undefined): OnEvent {
  if (onEvent === undefined) return () => undefined;
  return (event) => void new Promise((resolve) => resolve(onEvent(event))).catch(() => undefined);
}

type Line = Parameters<Log>;

/** Writes a line for each step, each tool call and the end of a run. Failed calls are warnings; of no call its content is told. */
function logRun(log: Log, key: RunKey, { trace_id }: ReadyTask): OnEvent {
  const ids = { tenant_id: key.tenantId, task_id: key.taskId, run_id: key.runId, trace_id };
  return (event) => {
    const [level, message, facts] = lineOf(event) ?? [];
    return level === undefined || message === undefined ? undefined : log(level, message, { ...ids, ...facts });
  };
}

/** Undefined for what is no line of its own. */
function lineOf(event: RunEvent): Line | undefined {
  switch (event.type) {
    case 'run-start':
      return ['debug', 'run started', { model: event.model, tools: event.tools }];
    case 'step-end': {
      const { step, promptTokens, completionTokens } = event;
      return ['debug', 'step done', { step, prompt_tokens: promptTokens, completion_tokens: completionTokens }];
    }
    case 'tool-result': {
      const { step, tool, isError, code, durationMs } = event;
      const facts = { step, tool, duration_ms: durationMs, code };
      return isError ? ['warn', 'tool failed', facts] : ['debug', 'tool called', facts];
    }
    case 'run-end':
      return ['info', 'run ended', { status: event.status, cost_usd: event.costUsd, code: event.code }];
    default:
      return undefined;
  }
}
