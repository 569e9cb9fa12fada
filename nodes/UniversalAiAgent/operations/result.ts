import type { IDataObject } from 'n8n-workflow';

import type { AgentResult, TaskReport } from '../../../runtime';
import type { ItemOutcome } from '../../shared/item';

/**
 * The result as an item: all of it, and `output`, for chat or as the value that was asked for. `tokenUsage` is for n8n's Logs
 * panel, which adds up those of all nodes: it is not there where a connected chat model has told its own.
 */
export function toJson(result: AgentResult, hasConnectedModel = false): IDataObject {
  const { tokens } = result;
  // A replayed result cost nothing in this execution.
  const spent = result.replayed === true ? { prompt: 0, completion: 0, total: 0 } : tokens;
  const tokenUsage = { promptTokens: spent.prompt, completionTokens: spent.completion, totalTokens: spent.total };
  const { status, cost_usd, model_used, agent_tier, task_id, trace_id, run_id, ...rest } = result;
  return {
    output: result.structured_output ?? result.result.text,
    ...({ status, cost_usd, model_used, agent_tier, tokens } as IDataObject),
    tool_calls: result.result.tool_calls.length,
    ...(rest as unknown as IDataObject),
    ...(result.trace === undefined ? {} : { steps: toSteps(result.trace) }),
    ...(hasConnectedModel ? {} : { tokenUsage }),
    task_id,
    ...(trace_id === undefined ? {} : { trace_id }),
    run_id,
  };
}

/** The trace as a flat table: each call has the same columns, so that n8n's Table view can show it. */
function toSteps(trace: NonNullable<AgentResult['trace']>): IDataObject[] {
  return trace.map((entry) =>
    entry.kind === 'model'
      ? {
          step: entry.step,
          kind: entry.kind,
          name: entry.model,
          ms: entry.duration_ms,
          tokens: entry.prompt_tokens + entry.completion_tokens,
          cost: entry.cost_usd,
          error: null,
        }
      : {
          step: entry.step,
          kind: entry.kind,
          name: entry.tool,
          ms: entry.duration_ms,
          tokens: null,
          cost: null,
          error: entry.code ?? null,
        },
  );
}

/** A report of the queue as an item. One of an agent looks as if the agent had run here; a null `error` would look like one. */
export function toReportItem(
  { error, ...report }: TaskReport,
  itemIndex: number,
  hasConnectedModel = false,
): ItemOutcome {
  const json = isAgentResult(report) ? toJson(report, hasConnectedModel) : { output: textOf(report.result), ...report };
  const warnings = Array.isArray(report.warnings) ? (report.warnings as unknown as AgentResult['warnings']) : [];
  return {
    item: { json: { ...json, ...(error === null ? {} : { error }) }, pairedItem: { item: itemIndex } },
    warnings,
  };
}

function isAgentResult(report: object): report is AgentResult {
  const { result, tokens } = report as Partial<AgentResult>;
  return typeof result?.text === 'string' && typeof tokens?.total === 'number';
}

function textOf(result: TaskReport['result']): string {
  if (result === null) return '';
  return typeof result === 'string' ? result : JSON.stringify(result);
}
