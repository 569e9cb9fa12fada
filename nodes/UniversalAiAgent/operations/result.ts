import type { IDataObject } from 'n8n-workflow';

import type { AgentResult, TaskReport } from '../../../runtime/host';
import type { ItemOutcome } from '../../shared/item';
import { toSteps } from './steps';

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
  const steps = toSteps(result);
  // What people look at first stands first, and ids last.
  return {
    output: result.structured_output ?? result.result.text,
    status,
    cost_usd,
    tokens,
    model_used,
    agent_tier,
    tool_calls: result.result.tool_calls.length,
    ...(rest as unknown as IDataObject),
    ...(steps === undefined ? {} : { steps: steps }),
    ...(hasConnectedModel ? {} : { tokenUsage }),
    task_id,
    ...(trace_id === undefined ? {} : { trace_id }),
    run_id,
  };
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
