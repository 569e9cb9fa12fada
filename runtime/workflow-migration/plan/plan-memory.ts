import { type JsonObject, type JsonValue, without } from '../../util/json';
import type { Branch, WorkflowNode } from '../contract';
import { literal } from '../expressions/javascript';
import { isSame, mergeValues } from '../expressions/merge-values';
import type { Graph } from '../graph';
import type { Issue } from '../issue';
import { kindOf } from '../parameters';

/** The memory that stays, and how it has to be changed to keep its histories apart as they were. */
export interface MemoryPlan {
  readonly connected?: WorkflowNode;
  /** The same node with other parameters. */
  readonly changed?: WorkflowNode;
  readonly issues: readonly Issue[];
}

/**
 * The versions from which on a session that comes from the input is kept apart by the name of the memory node. A session
 * key that is written in the node is not.
 */
const SCOPED_FROM: Readonly<Record<string, number>> = {
  memoryBufferWindow: 1.4,
  memoryPostgresChat: 1.4,
  memoryRedisChat: 1.6,
  memoryMongoDbChat: 1.1,
  memoryMotorhead: 1.4,
  memoryXata: 1.5,
  memoryZep: 1.4,
};
const WITH_SESSION_TYPE_FROM = 1.2;
const SESSION = ['sessionIdType', 'sessionKey'];

/**
 * All of these memories of n8n keep their histories by session key alone, not by node, so that one can stand for
 * several.
 */
export function planMemory(branches: readonly Branch[], graph: Graph, chatTrigger: string | undefined): MemoryPlan {
  const memories = branches.map(({ memory }) => memory);
  const [first] = memories;
  if (memories.every((memory) => memory?.name === first?.name)) return { connected: first, issues: [] };
  const lacking = branches.find(({ memory }) => memory === undefined);
  if (first === undefined || lacking !== undefined) {
    const text =
      'Some branches have a memory and others have none. Connect the same memory to all of them, or to none.';
    return { issues: [{ reason: 'several-memories', text }] };
  }
  const others = memories as readonly WorkflowNode[];
  if (!others.every((memory) => isSameStore(memory, first))) {
    const text = 'The branches have memories of different kinds or settings. Connect the same memory to all of them.';
    return { issues: [{ reason: 'several-memories', text }] };
  }
  if (others.every((memory) => isUnscoped(memory) && isSameSession(memory, first)))
    return { connected: first, issues: [] };
  return keepKeys(branches, first, { graph, chatTrigger });
}

/** Writes the keys that the memories had, by branch, into the one that stays. */
function keepKeys(
  branches: readonly Branch[],
  first: WorkflowNode,
  { graph, chatTrigger }: { readonly graph: Graph; readonly chatTrigger: string | undefined },
): MemoryPlan {
  const agents = new Set(branches.map(({ agent }) => agent.name));
  const isOurs = graph.outOf(first, 'ai_memory').every(({ to }) => agents.has(to.name));
  const sessionKey = mergeValues(
    branches.map(({ when, memory }) => ({ when, value: memory && sessionKeyOf(memory, chatTrigger) })),
  )?.value;
  const isKnown = Object.hasOwn(SCOPED_FROM, kindOf(first)) && first.typeVersion >= WITH_SESSION_TYPE_FROM;
  if (!isOurs || !isKnown || sessionKey === undefined) {
    const text =
      'The branches have memories of their own with different session keys, which one memory cannot keep: the first of them stays.';
    return { connected: first, issues: [{ node: first.name, reason: 'memory-keys', text, allowance: 'memory-keys' }] };
  }
  const parameters = { ...first.parameters, sessionIdType: 'customKey', sessionKey };
  return { connected: first, changed: { ...first, parameters }, issues: [] };
}

function isSameStore(one: WorkflowNode, other: WorkflowNode): boolean {
  return (
    one.type === other.type &&
    one.typeVersion === other.typeVersion &&
    isSame(storeOf(one), storeOf(other)) &&
    isSame(one.credentials ?? {}, other.credentials ?? {})
  );
}

/** The parameters but those of the session. */
function storeOf({ parameters }: WorkflowNode): JsonObject {
  return SESSION.reduce((rest, name) => without(rest, name), parameters);
}

function isSameSession(one: WorkflowNode, other: WorkflowNode): boolean {
  return SESSION.every((name) => isSame(one.parameters[name], other.parameters[name]));
}

function isCustom({ parameters }: WorkflowNode): boolean {
  return parameters.sessionIdType === 'customKey';
}

function isUnscoped(memory: WorkflowNode): boolean {
  const from = SCOPED_FROM[kindOf(memory)];
  return isCustom(memory) || (from !== undefined && memory.typeVersion < from);
}

/**
 * The key under which this memory keeps the history of an item. Without a session it stays empty, which n8n refuses.
 */
function sessionKeyOf(memory: WorkflowNode, chatTrigger: string | undefined): JsonValue {
  if (isCustom(memory)) return memory.parameters.sessionKey ?? '';
  const ofTrigger = chatTrigger === undefined ? '' : ` || $(${literal(chatTrigger)}).first().json.sessionId`;
  const session = chatTrigger === undefined ? '$json.sessionId' : `($json.sessionId${ofTrigger})`;
  if (isUnscoped(memory)) return `={{ ${session} }}`;
  const scope = literal(`__${memory.name.replace(/[^A-Za-z0-9_-]/g, '_')}`);
  return `={{ ${session} ? ${session} + ${scope} : '' }}`;
}
