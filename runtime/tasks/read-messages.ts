import { type Message, pairedMessages, type ToolCallMessage } from '../contracts/message';
import { ExactInteger } from '../util/exact-integer';
import { isJsonObject, type JsonObject } from '../util/json';

/** A conversation that a client has kept, as a run takes it. */
interface ReadMessages {
  readonly messages: readonly Message[];
  /** Counts of the entries that were dropped, such as "2 system messages"; nothing of their text. */
  readonly leftOut: readonly string[];
}

/** Roles as the chat API of OpenAI, LangChain and Gemini name them. */
const ROLES: Readonly<Record<string, Message['role']>> = {
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  ai: 'assistant',
  model: 'assistant',
  tool: 'tool',
  system: 'system',
  developer: 'system',
};

const LEFT_OUT = {
  system: 'system messages',
  role: 'messages of no known role',
  empty: 'messages without text',
  part: 'parts that are no text',
  unpaired: 'calls of tools without their results, or results without their call',
} as const;
type Why = keyof typeof LEFT_OUT;

/**
 * The messages of a client, oldest first, repaired as far as providers demand. Takes the shape of the OpenAI chat API, of LangChain's
 * stored messages, of AI SDK's and Gemini's (`parts`), and the pairs `{human, ai}` of n8n's Chat Memory Manager. System messages are left out:
 * a client must not speak with the authority of the system prompt.
 */
export function readMessages(given: readonly unknown[]): ReadMessages {
  const counts = new Map<Why, number>();
  const leave = (why: Why, count = 1): void => {
    if (count > 0) counts.set(why, (counts.get(why) ?? 0) + count);
  };
  const read = given.flatMap(entriesOf).flatMap((entry) => messageOf(entry, leave));
  const numbered = withFitIds(read);
  const paired = pairedMessages(numbered, true);
  const kept = new Set(paired);
  leave('unpaired', numbered.filter((message) => !kept.has(message)).length);
  return {
    messages: paired,
    leftOut: [...counts].map(([why, count]) => `${count} ${LEFT_OUT[why]}`),
  };
}

/** Sides of a pair in their order, which a database does not keep. */
const SIDES = ['system', 'human', 'user', 'ai', 'assistant'];

/** The message, or the question and the answer of a pair. What LangChain stores has its fields in `data`. */
function entriesOf(given: unknown): readonly JsonObject[] {
  if (!isJsonObject(given)) return [{}];
  const { data, role, type } = given;
  if (role !== undefined || type !== undefined) return [isJsonObject(data) ? { ...data, ...given } : given];
  const sides = SIDES.filter((side) => Object.hasOwn(given, side));
  return sides.length === 0 ? [{}] : sides.map((side) => ({ role: side, content: given[side] ?? '' }));
}

function messageOf(entry: JsonObject, leave: (why: Why, count?: number) => void): readonly Message[] {
  const { role, others, text } = readEntry(entry);
  leave('part', others);
  if (role === undefined || role === 'system') {
    leave(role ?? 'role');
    return [];
  }
  if (role === 'tool') return [{ role, tool_call_id: wordOf(entry.tool_call_id), content: text }];
  const calls = role === 'assistant' ? callsOf(entry.tool_calls) : [];
  if (role === 'assistant' && calls.length > 0) {
    return [{ role, content: text === '' ? null : text, tool_calls: calls }];
  }
  if (text.trim() !== '') return [{ role, content: text }];
  leave('empty');
  return [];
}

function readEntry({ role: named, type, content, parts, text }: JsonObject): {
  readonly role: Message['role'] | undefined;
  readonly text: string;
  readonly others: number;
} {
  const name = wordOf(named ?? type).toLowerCase();
  const role = Object.hasOwn(ROLES, name) ? ROLES[name] : undefined;
  const given = [content, parts, text].find((one) => one !== undefined && one !== null && one !== '') ?? '';
  if (role === 'tool' && isData(given)) return { role, text: JSON.stringify(given), others: 0 };
  const pieces = (Array.isArray(given) ? given : [given]).map(pieceOf);
  return {
    role,
    text: pieces.filter((piece) => piece !== undefined).join(''),
    others: pieces.filter((piece) => piece === undefined).length,
  };
}

/** Reports whether the result of a tool is a value, not text or parts of text. */
function isData(given: unknown): boolean {
  return isJsonObject(given) || (Array.isArray(given) && given.some((part) => pieceOf(part) === undefined));
}

/** Types of parts that hold text, and of those that nobody misses. */
const TEXTS = ['text', 'input_text', 'output_text', 'refusal'];
const SILENT = ['reasoning', 'thinking', 'redacted_thinking', 'step-start'];

/** The text of a part; undefined for one that is none, such as an image. */
function pieceOf(part: unknown): string | undefined {
  if (!isJsonObject(part)) return isWord(part) ? wordOf(part) : undefined;
  const { type = 'text', text = part.refusal, thought } = part;
  if (thought === true || SILENT.includes(wordOf(type))) return '';
  return TEXTS.includes(wordOf(type)) && isWord(text) ? wordOf(text) : undefined;
}

/** A text, or a number that n8n or a spreadsheet has made of one. */
function isWord(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value) || value instanceof ExactInteger;
}

function wordOf(value: unknown): string {
  return isWord(value) ? String(value) : '';
}

function callsOf(given: unknown): readonly ToolCallMessage[] {
  if (!Array.isArray(given)) return [];
  return given.filter(isJsonObject).map((call): ToolCallMessage => {
    const { name = call.name, arguments: input = call.args } = isJsonObject(call.function) ? call.function : {};
    const written = typeof input === 'string' ? input : ((JSON.stringify(input ?? {}) as string | undefined) ?? '{}');
    return { id: wordOf(call.id), type: 'function', function: { name: wordOf(name), arguments: written } };
  });
}

const FIT_ID = /^[\w-]{1,64}$/;

/**
 * Clients number the calls of each answer anew, and some ids hold anything: providers want them plain, and unique. A result belongs to
 * the last call of its id.
 */
function withFitIds(messages: readonly Message[]): readonly Message[] {
  const seen = new Set<string>();
  const renamed = new Map<string, string>();
  let count = 0;
  const fit = (id: string): string => {
    let name = id;
    while (seen.has(name) || !FIT_ID.test(name)) name = `call_${++count}`;
    seen.add(name);
    renamed.set(id, name);
    return name;
  };
  return messages.map((message) => {
    if (message.role === 'tool') {
      return { ...message, tool_call_id: renamed.get(message.tool_call_id) ?? message.tool_call_id };
    }
    if (message.role !== 'assistant' || message.tool_calls === undefined) return message;
    const ids = new Set(message.tool_calls.map(({ id }) => id));
    // A step with the same id twice is left out as one that lacks a result.
    if (ids.size < message.tool_calls.length || ids.has('')) return message;
    return { ...message, tool_calls: message.tool_calls.map((call) => ({ ...call, id: fit(call.id) })) };
  });
}
