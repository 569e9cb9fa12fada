import type { AssistantMessage, ToolCallMessage } from '../../contracts/message';
import { isWhole, type Model, type ModelReply } from '../../contracts/model';
import type { ToolDefinition } from '../../contracts/tools/tool-shapes';
import { answerText } from '../../loop/transcript';
import { readReview, REVIEW_STEP } from '../../toolsets/plan-source';
import { isJsonObject, type JsonObject, tryParseJson } from '../../util/json';
import { findJson } from '../../util/text/find-json';

const WORDS = /\b(?:SUCCESS|RETRY|REPLAN|ABORT)\b/g;

/**
 * Model whose replies are reviews of a step, whatever it writes: a verdict in its text counts as a call of `review_step`, and what
 * cannot be read becomes a call without a verdict. Nothing of it is shown as it comes.
 */
export function reviewingModel(model: Model): Model {
  const offers = new WeakMap<readonly ToolDefinition[], readonly ToolDefinition[]>();
  const offerOf = (tools: readonly ToolDefinition[]): readonly ToolDefinition[] => {
    const known = offers.get(tools) ?? tools.filter(({ name }) => name === REVIEW_STEP);
    offers.set(tools, known);
    return known;
  };
  return {
    generate: async (request) => {
      const reply = await model.generate({ ...request, tools: offerOf(request.tools), onDelta: undefined });
      return reply.finishReason === 'error' ? reply : asReview(reply);
    },
  };
}

function asReview(reply: ModelReply): ModelReply {
  const { message, finishReason } = reply;
  const { tool_calls: calls = [] } = message;
  const call = calls.find(({ function: { name } }) => name === REVIEW_STEP);
  const canBeRead = isWhole(finishReason);
  if (call !== undefined && canBeRead && hasVerdict(call)) {
    return calls.length === 1 ? reply : { ...reply, message: { ...message, tool_calls: [call] } };
  }
  const review = canBeRead ? reviewIn(answerText(message)) : {};
  const made: AssistantMessage = {
    role: 'assistant',
    content: message.content,
    tool_calls: [
      { id: call?.id ?? '', type: 'function', function: { name: REVIEW_STEP, arguments: JSON.stringify(review) } },
    ],
  };
  return { ...reply, finishReason: 'tool-calls', message: made };
}

function hasVerdict({ function: { arguments: text } }: ToolCallMessage): boolean {
  const given = tryParseJson(text);
  return given.ok && readReview(given.value).verdict !== undefined;
}

/** The review in a text: a JSON object with a verdict, or the one word that is a verdict. */
function reviewIn(text: string): JsonObject {
  for (const value of findJson(text)) {
    if (isJsonObject(value) && readReview(value).verdict !== undefined) return { ...value };
  }
  const [verdict, ...others] = new Set(text.match(WORDS));
  return verdict === undefined || others.length > 0 ? {} : { verdict, feedback: text };
}
