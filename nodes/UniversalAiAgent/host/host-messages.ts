import type { Message, ToolCallMessage } from '../../../runtime/host';
import { hostModule } from '../../shared/host-modules';

/** A message of LangChain, as far as it is looked at here. */
interface HostMessage {
  readonly getType?: () => string;
  /** Before LangChain 0.3. */
  readonly _getType?: () => string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly id?: unknown; readonly name?: unknown; readonly args?: unknown }[];
  readonly tool_call_id?: unknown;
}

/** What a memory holds, as messages of the chat API. Kinds that it does not know are left out. Throws an Error for no list. */
export function historyOf(given: unknown): readonly Message[] {
  if (!Array.isArray(given)) throw new Error('it gives no list of messages');
  return given.flatMap((message: HostMessage) => toMessage(message));
}

function toMessage(given: HostMessage): readonly Message[] {
  const content = textOf(given.content);
  switch (given.getType?.() ?? given._getType?.()) {
    case 'human':
      return [{ role: 'user', content }];
    case 'system':
      return [{ role: 'system', content }];
    case 'tool':
      return [{ role: 'tool', tool_call_id: text(given.tool_call_id), content }];
    case 'ai':
      return answer(content, given);
    default:
      return [];
  }
}

/** Providers refuse one that says nothing. */
function answer(content: string, { tool_calls: given = [] }: HostMessage): readonly Message[] {
  const calls = given.map(({ id, name, args }): ToolCallMessage => ({
    id: text(id),
    type: 'function',
    function: { name: text(name).replace(/[^a-zA-Z0-9_-]/gu, '_'), arguments: JSON.stringify(args ?? {}) },
  }));
  if (calls.length > 0) return [{ role: 'assistant', content: content === '' ? null : content, tool_calls: calls }];
  return content === '' ? [] : [{ role: 'assistant', content }];
}

/** The text of a content that is a text, or parts of which some are texts. */
export function textOf(content: unknown): string {
  if (!Array.isArray(content)) return text(content);
  return content.map((part: unknown) => (typeof part === 'string' ? part : partText(part))).join('');
}

function partText(part: unknown): string {
  return typeof part === 'object' && part !== null ? text((part as { text?: unknown }).text) : '';
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

type Create = (fields: object) => object;

/** A Chat Trigger that loads the previous session from a memory sends all messages to the browser but those that are marked so. */
const HIDDEN = { additional_kwargs: { hideFromUI: true } };

/**
 * The messages of a turn as objects of n8n's LangChain, which memories know how to keep. Undefined where its classes are not
 * to be had.
 */
export function toHostMessages(turn: readonly Message[]): readonly object[] | undefined {
  const classes = hostModule('@langchain/core/messages') ?? {};
  const human = creator(classes.HumanMessage);
  const ai = creator(classes.AIMessage);
  const tool = creator(classes.ToolMessage);
  if (human === undefined || ai === undefined || tool === undefined) return undefined;
  const names = new Map(callsOf(turn).map((call) => [call.id, call.function.name]));
  return turn.map((message) => {
    if (message.role === 'tool') return tool({ ...message, ...HIDDEN, name: names.get(message.tool_call_id) });
    if (message.role !== 'assistant') return human({ content: message.content });
    const calls = callsOf([message]).map(toHostCall);
    return ai({ content: message.content ?? '', tool_calls: calls, ...(calls.length === 0 ? {} : HIDDEN) });
  });
}

function creator(given: unknown): Create | undefined {
  if (typeof given !== 'function') return undefined;
  return (fields) => Reflect.construct(given, [fields]) as object;
}

function toHostCall({ id, function: { name, arguments: written } }: ToolCallMessage): object {
  return { id, name, args: JSON.parse(written) as unknown, type: 'tool_call' };
}

function callsOf(messages: readonly Message[]): readonly ToolCallMessage[] {
  return messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
}
