import { type Message, textOf } from '../contracts/message';
import {
  type AgentTask,
  agentTaskSchema,
  CONFIG_KEYS,
  FOREIGN_CONFIG_KEYS,
  GUARDING_CONFIG_KEYS,
} from '../contracts/task';
import { describeIssues } from '../errors/describe-issues';
import { describeError, type ErrorSummary, RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { isUuid, newId } from '../util/clock';
import { findExcess, isJsonObject } from '../util/json';
import { listKeys, misspelt, nearMisses } from '../util/known-keys';
import { readMessages } from './read-messages';

declare const isRead: unique symbol;

/** A task that can be run: with ids, and a tenant id that is one. Nothing but `readAgentTask` makes one. */
export type ReadyTask = AgentTask & {
  readonly [isRead]: true;
  readonly task_id: string;
  readonly trace_id: string;
  /** User id sent with its approval; `meta` is that of the waiting run. */
  readonly decidedBy?: string;
  /** Keys of its config that nobody reads. */
  readonly unknownKeys?: readonly string[];
  /** Entries and parts of `config.messages` that no model can take. */
  readonly leftOut?: readonly string[];
};

const SHOWN_ID_LENGTH = 60;
/** Each is compared with the keys that guard. */
const MAX_UNKNOWN_KEYS = 200;

/** Reads what came from outside. Throws INPUT_INVALID that names the fields, or TENANT_ID_INVALID. */
export function readTask(input: unknown): ReadyTask {
  refuseExcess(input);
  return readAgentTask(input);
}

/** Reads a task whose size was looked at. Throws like `readTask`. */
export function readAgentTask(input: unknown): ReadyTask {
  const parsed = agentTaskSchema.safeParse(input);
  if (!parsed.success) throw new RuntimeError('INPUT_INVALID', { issues: describeIssues(parsed.error, 'the task') });
  const task = parsed.data;
  refuseUnsendable(task.config.context);
  const unknownKeys = unknownConfigKeys(input);
  const { leftOut, ...conversation } = readConversation(task.config);
  return {
    ...task,
    config: { ...task.config, ...conversation },
    ...(unknownKeys.length > 0 && { unknownKeys }),
    ...(leftOut !== undefined && { leftOut }),
    meta: { ...metaOf(task), tenant_id: readTenantId(task.meta.tenant_id) },
    task_id: task.task_id ?? newId(),
    trace_id: task.trace_id ?? newId(),
  } as ReadyTask;
}

/**
 * The conversation that the client has kept, with its last message as the request where the task has none: what a user wrote is no
 * template. A request that the conversation has too is meant once. Throws INPUT_INVALID where there is no request at all.
 */
function readConversation({
  messages: given,
  message,
  approval,
}: AgentTask['config']): Partial<
  Pick<AgentTask['config'], 'message' | 'messages' | 'message_is_template'> & Pick<ReadyTask, 'leftOut'>
> {
  if (given === undefined) return {};
  const { messages, leftOut } = messagesIn(given);
  const said = saidLast(messages);
  const isBlank = message.trim() === '';
  const taken = isBlank ? said : undefined;
  if (isBlank && (taken ?? approval) === undefined) {
    const issues = 'config.message must not be empty where config.messages does not end with a message of the user';
    throw new RuntimeError('INPUT_INVALID', { issues });
  }
  const earlier = taken !== undefined || said?.trim() === message.trim() ? messages.slice(0, -1) : messages;
  return {
    messages: listed(earlier),
    leftOut: listed(leftOut),
    ...(taken !== undefined && { message: taken, message_is_template: undefined }),
  };
}

/** A library's caller may pass what is no JSON. */
function messagesIn(given: readonly unknown[]): ReturnType<typeof readMessages> {
  try {
    return readMessages(given);
  } catch (error) {
    throw new RuntimeError('INPUT_INVALID', { issues: `config.messages is not JSON (${errorText(error)})` });
  }
}

function saidLast(messages: readonly Message[]): string | undefined {
  const last = messages.at(-1);
  return last?.role === 'user' ? textOf(last.content) : undefined;
}

function listed<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** A task with a conversation is told apart by it in bill, audit and tools. */
function metaOf({ meta, config: { session_id: session } }: AgentTask): AgentTask['meta'] {
  return session === undefined || meta.session_id ? meta : { ...meta, session_id: session };
}

/** Producers send keys of their own. But one that looks like a slip in a rule or a limit is refused, since it would not hold. */
function unknownConfigKeys(input: unknown): readonly string[] {
  const config = isJsonObject(input) && isJsonObject(input.config) ? input.config : {};
  const unknown = Object.keys(config).filter((key) => !CONFIG_KEYS.includes(key) && config[key] !== undefined);
  if (unknown.length === 0) return unknown;
  if (unknown.length > MAX_UNKNOWN_KEYS) {
    throw new RuntimeError('INPUT_INVALID', { issues: `config has ${unknown.length} keys that nobody reads` });
  }
  const missed = nearMisses(unknown, {
    keys: GUARDING_CONFIG_KEYS,
    elsewhere: FOREIGN_CONFIG_KEYS,
    others: CONFIG_KEYS,
  });
  if (missed.length === 0) return unknown;
  const named = missed.map(({ key, instead }) => misspelt(key, instead));
  throw new RuntimeError('INPUT_INVALID', { issues: `config has no key ${named.join(', ')}` });
}

/** The id as the database writes it. Throws INPUT_INVALID when there is none, TENANT_ID_INVALID when it is no UUID. */
export function readTenantId(given: unknown): string {
  if (typeof given !== 'string') throw new RuntimeError('INPUT_INVALID', { issues: 'meta.tenant_id is missing' });
  const tenantId = given.trim();
  if (isUuid(tenantId)) return tenantId.toLowerCase();
  throw new RuntimeError('TENANT_ID_INVALID', { tenantId: tenantId.slice(0, SHOWN_ID_LENGTH) });
}

/** A task may be nested deeply enough to overflow the stack, or hold more than the event loop has time for. Throws INPUT_INVALID. */
export function refuseExcess(task: unknown): void {
  const excess = findExcess(task);
  if (excess === undefined) return;
  const config = isJsonObject(task) && isJsonObject(task.config) ? task.config : {};
  const key = Object.keys(config).find((name) => findExcess(config[name]) !== undefined);
  throw new RuntimeError('INPUT_INVALID', { issues: `${key === undefined ? 'the task' : `config.${key}`} ${excess}` });
}

/** A library's caller may pass what is no JSON. */
function refuseUnsendable(context: unknown): void {
  const refuse = (issue: string): RuntimeError =>
    new RuntimeError('INPUT_INVALID', { issues: `config.context ${issue}` });
  try {
    JSON.stringify(context);
  } catch (error) {
    throw refuse(`is not JSON (${errorText(error)})`);
  }
}

/** What the task asks for that is not done. */
export function taskWarnings(task: ReadyTask): readonly ErrorSummary[] {
  const { unknownKeys = [], leftOut = [] } = task;
  const unknown =
    unknownKeys.length === 0 ? [] : [describeError('CONFIG_KEY_UNKNOWN', { keys: listKeys(unknownKeys) })];
  const repaired = leftOut.length === 0 ? [] : [describeError('MESSAGES_REPAIRED', { what: leftOut.join(', ') })];
  return [...unknown, ...repaired, ...callbackWarnings(task)];
}

/** A single run gives its result to its caller and nobody else; whoever waits for a callback is told that none will come. */
function callbackWarnings(task: AgentTask): readonly ErrorSummary[] {
  if (task.callback === undefined || Object.keys(task.callback).length === 0) return [];
  return [describeError('CALLBACK_NOT_DELIVERED', { reason: 'a single run writes nothing to Redis' })];
}
