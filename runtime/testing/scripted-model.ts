import { NO_USAGE } from '../billing/charge-reply';
import type { Usage } from '../contracts/ledger/usage';
import type { ToolCallMessage } from '../contracts/message';
import type { Model, ModelReply, ModelRequest } from '../contracts/model';
import { RuntimeError } from '../errors/runtime-error';

/** What the model does in one call: answer with text, ask for tools, fail, or decide when it is asked. */
export type ScriptedReply =
  | string
  | { readonly calls: readonly ScriptedCall[]; readonly usage?: Partial<Usage> }
  | { readonly text: string; readonly usage?: Partial<Usage> }
  | Error
  | ((request: ModelRequest) => ModelReply | Promise<ModelReply>);

export interface ScriptedCall {
  readonly name: string;
  readonly arguments?: object;
  /** Default: the tool's name and the place of the call. */
  readonly id?: string;
}

export interface ScriptedModel extends Model {
  /** What the model was sent, call by call, as it was at that moment. */
  readonly requests: readonly Pick<ModelRequest, 'modelId' | 'messages' | 'tools' | 'toolChoice'>[];
  /** Replies that nobody has asked for. */
  readonly left: () => number;
}

/**
 * A model that answers by a script, for tests of whoever builds on the library. A call too many rejects with
 * LLM_UNAVAILABLE; a reply too many shows in `left`.
 *
 * @example
 * createScriptedModel([{ calls: [{ name: 'find_orders', arguments: { customer: 7 } }] }, 'You have three orders.'])
 */
export function createScriptedModel(script: readonly ScriptedReply[]): ScriptedModel {
  const left = [...script];
  const requests: ScriptedModel['requests'][number][] = [];
  return {
    requests,
    left: () => left.length,
    generate: async (request) => {
      const { modelId, messages, tools, toolChoice, attempts, signal } = request;
      signal.throwIfAborted();
      requests.push({ modelId, messages: [...messages], tools, toolChoice });
      attempts.sent++;
      const next = left.shift();
      if (next === undefined)
        throw new RuntimeError('LLM_UNAVAILABLE', { reason: 'the script has no reply for this call' });
      attempts.answered++;
      if (next instanceof Error) throw next;
      return typeof next === 'function' ? next(request) : toReply(next);
    },
  };
}

function toReply(reply: Exclude<ScriptedReply, Error | ((request: ModelRequest) => unknown)>): ModelReply {
  if (typeof reply === 'string') return toReply({ text: reply });
  const usage = { ...NO_USAGE, ...reply.usage };
  if ('text' in reply) return { message: { role: 'assistant', content: reply.text }, finishReason: 'stop', usage };
  const calls = reply.calls.map(({ name, arguments: input = {}, id }, index): ToolCallMessage => ({
    id: id ?? `${name}-${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  return { message: { role: 'assistant', content: null, tool_calls: calls }, finishReason: 'tool-calls', usage };
}
