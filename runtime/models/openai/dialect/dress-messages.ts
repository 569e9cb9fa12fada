import { createHash } from 'node:crypto';

import { type AssistantMessage, type Message, textOf } from '../../../contracts/message';
import type { Dialect } from './dialect';

/** Rewrites a transcript for a dialect. Returns the same array for the usual one. */
export function dressMessages(messages: readonly Message[], dialect: Dialect): readonly Message[] {
  const { fields, shortIds, noText, order } = dialect;
  let dressed = order === 'no-system' ? withoutSystem(messages) : messages;
  if (order !== 'any') dressed = inTurn(dressed);
  if (shortIds) dressed = dressed.map(withShortIds);
  if (noText !== null) dressed = dressed.map((message) => withText(message, noText));
  return fields.size === 0 ? dressed : dressed.map((message) => withoutFields(message, fields));
}

function withoutSystem(messages: readonly Message[]): readonly Message[] {
  const words = systemWords(messages);
  const rest = messages.filter(({ role }) => role !== 'system');
  if (words === '') return rest;
  const at = rest.findIndex(({ role }) => role === 'user');
  return rest.map((message, index) =>
    index === at && message.role === 'user' ? { role: 'user', content: join(words, textOf(message.content)) } : message,
  );
}

function systemWords(messages: readonly Message[]): string {
  return messages.flatMap((message) => (message.role === 'system' ? [textOf(message.content)] : [])).join('\n\n');
}

const join = (one: string, other: string): string => [one, other].filter((text) => text !== '').join('\n\n');

const NO_ANSWER: AssistantMessage = { role: 'assistant', content: '(There was no answer.)' };

/** Merges system messages at the top and consecutive messages of one role; separates tool results from user messages. */
function inTurn(messages: readonly Message[]): readonly Message[] {
  const words = systemWords(messages);
  const turns: Message[] = words === '' ? [] : [{ role: 'system', content: words }];
  for (const message of messages) {
    if (message.role === 'system') continue;
    const last = turns.at(-1);
    const both = last === undefined ? undefined : asOne(last, message);
    if (both !== undefined) turns.splice(-1, 1, both);
    else if (message.role === 'user' && last?.role === 'tool') turns.push(NO_ANSWER, message);
    else turns.push(message);
  }
  return turns;
}

function asOne(one: Message, other: Message): Message | undefined {
  const joined = join(textOf(one.content), textOf(other.content));
  if (one.role === 'user' && other.role === 'user') return { role: 'user', content: joined };
  if (one.role !== 'assistant' || other.role !== 'assistant' || one.tool_calls !== undefined) return undefined;
  return { ...other, content: joined };
}

const ID_LENGTH = 9;

function withShortIds(message: Message): Message {
  if (message.role === 'tool') return { ...message, tool_call_id: shortId(message.tool_call_id) };
  if (message.role !== 'assistant' || message.tool_calls === undefined) return message;
  return { ...message, tool_calls: message.tool_calls.map((call) => ({ ...call, id: shortId(call.id) })) };
}

function shortId(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id;
  return createHash('sha256').update(id).digest('hex').slice(0, ID_LENGTH);
}

function withText(message: Message, text: string): Message {
  const isEmpty = message.role === 'assistant' && textOf(message.content) === '';
  return isEmpty ? { ...message, content: text } : message;
}

function withoutFields(message: Message, names: ReadonlyMap<string, string>): Message {
  if (message.role !== 'assistant' || message.original === undefined) return message;
  const { from, fields } = message.original;
  const kept = Object.entries(fields).filter(([name]) => !names.has(name));
  return { ...message, original: { from, fields: Object.fromEntries(kept) } };
}
