import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import type { AgentResult, TraceEntry } from '../../../runtime/host';

/** The trace as a table: one row for each model call and tool call. */
export function toSteps({ trace, result }: AgentResult): readonly IDataObject[] | undefined {
  const failed = result.tool_calls
    .filter(({ error }) => error !== undefined)
    .map(({ tool, error }) => ({ tool, error }));
  return trace?.map((entry) => (entry.kind === 'model' ? ofModel(entry) : ofTool(entry, failed)));
}

type Of<Kind extends TraceEntry['kind']> = Extract<TraceEntry, { readonly kind: Kind }>;

function ofModel({
  step,
  model,
  duration_ms: ms,
  prompt_tokens,
  completion_tokens,
  cost_usd: cost,
}: Of<'model'>): IDataObject {
  return { step, kind: 'model', name: model, ms, tokens: prompt_tokens + completion_tokens, cost, error: null };
}

/** Calls stand in the same order in the trace and among the tool calls. */
function ofTool(
  { step, tool, code, duration_ms: ms }: Of<'tool'>,
  failed: { tool: string; error?: unknown }[],
): IDataObject {
  const place = code === undefined ? -1 : failed.findIndex((call) => call.tool === tool);
  const [call] = place < 0 ? [] : failed.splice(place, 1);
  const { message } = (call?.error ?? {}) as { readonly message?: string };
  return { step, kind: 'tool', name: tool, ms, tokens: null, cost: null, error: message ?? code ?? null };
}

interface WithSteps {
  readonly asked: IDataObject;
  readonly shown: (json: IDataObject) => IDataObject;
}

/** A manual run is looked at, so its item has the steps also where nothing is said of a trace, which itself is left out. */
export function withSteps(context: IExecuteFunctions, task: IDataObject): WithSteps {
  const config = task.config as IDataObject | null | undefined;
  const isOpen = typeof config === 'object' && config !== null && config.include_trace === undefined;
  if (context.getMode() !== 'manual' || !isOpen) return { asked: task, shown: (json) => json };
  return {
    asked: { ...task, config: { ...config, include_trace: true } },
    shown: ({ trace: _trace, ...json }) => json,
  };
}
