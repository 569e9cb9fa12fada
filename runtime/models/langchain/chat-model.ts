import type { Model, ModelReply, ModelRequest, NamedModel, ReplyUsage } from '../../contracts/model';
import type { ToolDefinition } from '../../contracts/tools/tool-shapes';
import { RuntimeError } from '../../errors/runtime-error';
import { elapsedMs, monotonicMs } from '../../util/clock';
import { isJsonObject, type JsonObject, type JsonValue, objectOf } from '../../util/json';
import { createRedactor, redactBoth } from '../../util/redaction/redact';
import { redactForms } from '../../util/redaction/redact-forms';
import { normalizeReply } from '../openai/normalize-reply';
import { readUsage } from '../read-usage';
import { offeredTool, takesPlainOnly } from '../tool-schema/offered-tool';
import { answered, secretsOf, toChatError, wasNotSent } from './chat-errors';
import { fromChatMessage, toChatMessages } from './chat-messages';
import { listen, type Listener, reasonIn } from './listen';

/** The part of a LangChain chat model that is used. */
interface ChatModel extends Runnable {
  readonly bindTools: (tools: readonly unknown[], options?: object) => Runnable;
  readonly metadata?: { readonly tools?: unknown };
}

interface Runnable {
  readonly invoke: (messages: readonly object[], options: object) => Promise<unknown>;
}

/**
 * A LangChain chat model, known by its shape, as a model of ours. Temperature, length, retries and time-outs are its own.
 * Throws MODEL_UNUSABLE, which names the `input` that it is connected to.
 */
export function fromChatModel(given: unknown, input: string): NamedModel {
  if (!isChatModel(given)) {
    const reason = 'it is no chat model that can call tools';
    throw new RuntimeError('MODEL_UNUSABLE', { input, reason });
  }
  const name = nameOf(given);
  return { name, model: createModel(given, name) };
}

function isChatModel(given: unknown): given is ChatModel {
  if (typeof given !== 'object' || given === null) return false;
  const { invoke, bindTools } = given as Partial<ChatModel>;
  return typeof invoke === 'function' && typeof bindTools === 'function';
}

/** The id by which the provider knows it; the name of its class where it has none. */
function nameOf(model: ChatModel): string {
  const { model: id, modelName, deploymentName } = model as unknown as Readonly<Record<string, unknown>>;
  const named = [id, modelName, deploymentName].find((name) => typeof name === 'string' && name !== '');
  return typeof named === 'string' ? named : model.constructor.name;
}

function createModel(chatModel: ChatModel, name: string): Model {
  const bind = createBinder(chatModel, takesPlainOnly(name));
  const generate = async (request: ModelRequest): Promise<ModelReply> => {
    const { attempts, signal } = request;
    const startedAt = monotonicMs();
    const fail = (error: unknown): never => {
      const redact = redactBoth(request.redact, redactBoth(createRedactor(secretsOf(chatModel)), redactForms));
      throw toChatError(error, { model: name, elapsedMs: elapsedMs(startedAt), redact });
    };
    const runnable = await Promise.resolve(request).then(bind).catch(fail);
    attempts.sent++;
    const heard = listen(request);
    try {
      const reply = await runnable.invoke(toChatMessages(request.messages, name), { signal, ...heard.options });
      const normal = normalizeReply(toBody(reply, heard), name);
      attempts.answered++;
      return normal;
    } catch (error) {
      const used = usedBy(heard);
      if (used !== undefined) (attempts.wasted ??= []).push({ modelId: name, ...used });
      // Usage of a reply that broke off may not be all.
      const isKnown = used === undefined ? answered(error) || wasNotSent(error) : used.usage === undefined;
      if (isKnown || heard.isWhole()) attempts.answered++;
      return fail(error);
    }
  };
  return { generate };
}

/** A run shows the same tools in each of its calls, so they are bound once. */
function createBinder(chatModel: ChatModel, isPlain: boolean): (request: ModelRequest) => Runnable {
  let last:
    { readonly tools: readonly ToolDefinition[]; readonly choice: string; readonly bound: Runnable } | undefined;
  return ({ tools, toolChoice: choice }) => {
    if (last?.tools === tools && last.choice === choice) return last.bound;
    const all = [...tools.map((tool) => offeredTool(tool, { isPlain })), ...toolsOfItsOwn(chatModel)];
    const options = choice === 'auto' ? undefined : { tool_choice: choice === 'required' ? 'any' : choice };
    const bound = all.length === 0 ? chatModel : chatModel.bindTools(all, options);
    last = { tools, choice, bound };
    return bound;
  };
}

/** Those that its provider executes, such as a search of the web. */
function toolsOfItsOwn({ metadata }: ChatModel): readonly unknown[] {
  return Array.isArray(metadata?.tools) ? metadata.tools : [];
}

/** The reply as the chat API writes it, so that one reader checks both. */
function toBody(reply: unknown, heard: Listener): unknown {
  // A plain copy: what is no JSON is left out, and so are methods.
  const plain = toJson(reply);
  if (plain === undefined) return undefined;
  // Anthropic's adapter streams the reason of the end beside the message's own fields.
  const metadata = { ...objectOf(plain.additional_kwargs), ...heard.facts(), ...objectOf(plain.response_metadata) };
  const message = fromChatMessage(plain);
  // LangChain leaves the pieces of some adapters as so many blocks.
  const content = Array.isArray(plain.content) ? heard.text() || message.content : message.content;
  return {
    id: plain.id,
    model: metadata.model_name ?? metadata.model,
    choices: [{ message: { ...message, content }, finish_reason: heard.reason() ?? reasonIn(metadata) }],
    usage: toUsage({ given: plain.usage_metadata, ofProvider: metadata.usage, countedTwice: heard.countedTwice() }),
  };
}

function toJson(reply: unknown): JsonObject | undefined {
  if (!isJsonObject(reply)) return undefined;
  // LangChain's own JSON of a message is of another shape.
  const { id, content, tool_calls, invalid_tool_calls, additional_kwargs, response_metadata, usage_metadata } = reply;
  if (content === undefined) return undefined;
  const fields = { id, content, tool_calls, invalid_tool_calls, additional_kwargs, response_metadata, usage_metadata };
  return Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => copied(name, value)));
}

/** None of what cannot be written: the answer was paid for, and what a client hangs on to it may be anything. */
function copied(name: string, value: unknown): readonly (readonly [string, JsonValue])[] {
  try {
    const text: unknown = JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'bigint' ? Number(inner) : inner,
    );
    return typeof text === 'string' ? [[name, JSON.parse(text) as JsonValue]] : [];
  } catch {
    return [];
  }
}

/** Usage of pieces that are no answer, or everything that was written in them. */
function usedBy(heard: Listener): ReplyUsage | undefined {
  const given = toUsage({ given: heard.usage(), ofProvider: undefined, countedTwice: heard.countedTwice() });
  const used = readUsage(given);
  if (used.usage !== undefined) return used;
  const written = heard.written();
  return written === '' ? undefined : { written };
}

interface ChatUsage {
  readonly given: JsonValue | undefined;
  readonly ofProvider: JsonValue | undefined;
  readonly countedTwice: number;
}

function toUsage({ given, ofProvider, countedTwice }: ChatUsage): JsonObject | undefined {
  if (!isJsonObject(given)) return undefined;
  const less = (count: JsonValue = null): JsonValue => (typeof count === 'number' ? count - countedTwice : count);
  const { input_tokens = null } = given;
  const [output_tokens, total_tokens] = [less(given.output_tokens), less(given.total_tokens)];
  const input = objectOf(given.input_token_details);
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens,
    prompt_tokens_details: { cached_tokens: input.cache_read ?? 0, cache_write_tokens: input.cache_creation ?? 0 },
    cache_creation: input,
    completion_tokens_details: { reasoning_tokens: objectOf(given.output_token_details).reasoning ?? 0 },
    cost: objectOf(ofProvider).cost ?? null,
  };
}
