import { type IDataObject, type ISupplyDataFunctions, NodeConnectionTypes } from 'n8n-workflow';

import { summarize, toTextError } from '../shared/errors';
import { reportWarnings } from '../shared/hints';
import type { Library } from '../shared/item';

const TYPE = NodeConnectionTypes.AiLanguageModel;

type Models = Parameters<Parameters<Library['useRuntime']>[1]>[0]['models'];
type Query = Parameters<Models['call']>[0];
/** Part of a query that all calls of the model share. */
export type CallQuery = Omit<Query, 'messages'>;
type Answer = Awaited<ReturnType<Models['call']>>;

/** Asks the model. Rejects with an error of n8n, whose message says all. */
export type CallModel = (asked: Omit<Query, 'tenantId'>) => Promise<Answer>;

interface CallParts {
  readonly library: Library;
  readonly config: Parameters<Library['useRuntime']>[0];
  readonly query: CallQuery;
}

/** Asks the model in a row of n8n's Logs, with what it has cost, or in red with why it failed. */
export function callInLogs(context: ISupplyDataFunctions, { library, config, query }: CallParts): CallModel {
  const report = reporterOf(context);
  return async ({ signal, ...asked }) => {
    const signals = [query.signal, signal].filter((one) => one !== undefined);
    const { index } = context.addInputData(TYPE, [[{ json: shown(asked.messages as readonly ShownMessage[]) }]]);
    try {
      const call = { ...query, ...asked, signal: AbortSignal.any(signals) };
      const answer = await library.useRuntime(config, ({ models }) => models.call(call));
      report(answer.warnings);
      context.addOutputData(TYPE, index, [[{ json: outcome(answer) }]]);
      return answer;
    } catch (error) {
      const failure = toTextError(context.getNode(), summarize(error));
      context.addOutputData(TYPE, index, failure);
      throw failure;
    }
  };
}

/** Shows each warning once, however many calls have it. */
function reporterOf(context: ISupplyDataFunctions): (warnings: Answer['warnings']) => void {
  const told = new Set<string>();
  return (warnings) => {
    const fresh = warnings.filter(({ message }) => !told.has(message));
    for (const { message } of fresh) told.add(message);
    reportWarnings(context, fresh);
  };
}

interface ShownMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: Answer['message']['tool_calls'];
}

/** The input of a row in the form of n8n's own models, so that Logs can read it. */
function shown(messages: readonly ShownMessage[]): IDataObject {
  const lines = messages.map(({ role, content, tool_calls: calls }) => {
    return `${NAMES[role] ?? role}: ${[...textsOf(content), ...linesOf(calls)].join('\n')}`;
  });
  return { messages: lines };
}

/** The texts of a content. Images stay out of what n8n stores. */
function textsOf(content: unknown): readonly string[] {
  if (typeof content === 'string') return content === '' ? [] : [content];
  if (!Array.isArray(content)) return [];
  return content.map((part: { type?: string; text?: string }) => part.text ?? `[${part.type}]`);
}

function linesOf(calls: Answer['message']['tool_calls']): readonly string[] {
  return (calls ?? []).map(({ function: { name, arguments: written } }) => `${name} ${written}`);
}

const NAMES: Readonly<Record<string, string>> = {
  system: 'System',
  developer: 'System',
  user: 'Human',
  assistant: 'AI',
  tool: 'Tool',
};

function outcome({ message, finish_reason, model, tier, tokens, cost_usd }: Answer): IDataObject {
  const text = [...textsOf(message.content), ...linesOf(message.tool_calls)].join('\n');
  const { prompt: promptTokens, completion: completionTokens, total: totalTokens } = tokens;
  return {
    response: { generations: [[{ text, generationInfo: { finish_reason } }]] },
    // Logs add these up.
    tokenUsage: { promptTokens, completionTokens, totalTokens },
    ...{ cost_usd, model, tier },
  };
}
