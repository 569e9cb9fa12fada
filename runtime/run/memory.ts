import type { Memory } from '../contracts/connected';
import { type Message, pairedMessages, textOf } from '../contracts/message';
import type { LoopOutcome } from '../contracts/outcome';
import type { AgentResult } from '../contracts/result';
import { describeError, type ErrorSummary, RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { untilAborted } from '../util/abort';
import { findExcess, tryParseJson } from '../util/json';
import { type Redact, redactJson } from '../util/redaction/redact';
import type { ClaimedRun } from './run';

/** What was said before, as a provider takes it. Rejects with MEMORY_UNAVAILABLE, or with the signal's reason. */
export async function loadHistory(memory: Memory, signal: AbortSignal): Promise<readonly Message[]> {
  try {
    const messages = await untilAborted(memory.load(), signal);
    const excess = findExcess(messages);
    if (excess !== undefined) throw new Error(`what it holds ${excess}`);
    return pairedMessages(messages);
  } catch (error) {
    if (signal.aborted) throw error;
    throw new RuntimeError('MEMORY_UNAVAILABLE', { reason: errorText(error) }, { cause: error });
  }
}

export interface Turn {
  /** The user's, without the facts that went with it: they are those of this turn only. */
  readonly message: string;
  /** What followed it in the transcript. */
  readonly said: readonly Message[];
  readonly result: AgentResult;
  readonly redact: Redact;
}

/** After the end is on record: a crash in between loses the turn, and a task that is replayed does not tell it twice. */
export async function rememberTurn(
  { plan, host, redact, deadline }: ClaimedRun,
  settled: AgentResult,
  { said = [] }: LoopOutcome,
): Promise<AgentResult> {
  const turn = { message: plan.config.message, said, result: settled, redact };
  const warning = await saveTurn(host.connected?.memory, turn, deadline.signal);
  if (warning === undefined) return settled;
  return { ...settled, warnings: [...settled.warnings, warning] };
}

/** Keeps the turn of a run that gave an answer. Never rejects: gives a warning when the memory did not take it. */
async function saveTurn(
  memory: Memory | undefined,
  turn: Turn,
  signal: AbortSignal,
): Promise<ErrorSummary | undefined> {
  if (memory === undefined || !isAnswered(turn.result)) return undefined;
  try {
    await untilAborted(memory.save(turnMessages(turn)), signal);
    return undefined;
  } catch (error) {
    return describeError('MEMORY_NOT_SAVED', { reason: turn.redact(errorText(error)) });
  }
}

/** Reports whether a conversation keeps the turn. */
export function isAnswered({ status, result, requires_followup: isPaused }: AgentResult): boolean {
  return isPaused !== true && (status === 'completed' || status === 'max_iterations') && result.text !== '';
}

/** The question, the steps with tools, the answer. What the runtime itself had to say to the model is no part of it. */
export function turnMessages({ message, said, result, redact }: Turn): readonly Message[] {
  return [
    { role: 'user', content: message },
    ...pairedMessages(said.flatMap((one) => toolMessages(one, redact))),
    { role: 'assistant', content: result.result.text },
  ];
}

function toolMessages(message: Message, redact: Redact): readonly Message[] {
  if (message.role === 'tool') {
    const { role, tool_call_id, content } = message;
    return [{ role, tool_call_id, content: redact(textOf(content)) }];
  }
  if (message.role !== 'assistant') return [];
  const { content, tool_calls: calls = [] } = message;
  if (calls.length === 0) return [];
  const clean = calls.map((call) => ({
    ...call,
    function: { ...call.function, arguments: redactArguments(call.function.arguments, redact) },
  }));
  return [{ role: 'assistant', content: content === null ? null : redact(textOf(content)), tool_calls: clean }];
}

/** They stand in the transcript as an object, and have to stay one. */
function redactArguments(written: string, redact: Redact): string {
  const parsed = tryParseJson(written);
  return parsed.ok ? JSON.stringify(redactJson(parsed.value, redact)) : '{}';
}
