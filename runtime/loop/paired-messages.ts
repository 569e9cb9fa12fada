import type { Message } from '../contracts/message';

/**
 * The messages without what providers refuse: calls that lack a result, results that lack their call. Such a step is left out
 * whole, as the window of a memory cuts through it.
 */
export function pairedMessages(messages: readonly Message[]): readonly Message[] {
  const kept: Message[] = [];
  for (let index = 0; index < messages.length;) {
    const step = stepAt(messages, index);
    if (isWhole(step)) kept.push(...step);
    index += step.length;
  }
  return kept;
}

/** A message, with the results of tools that follow it. */
function stepAt(messages: readonly Message[], start: number): readonly Message[] {
  let end = start + 1;
  while (messages[end]?.role === 'tool') end++;
  // Results belong to the message before them only if that one can have calls.
  return messages[start]?.role === 'assistant' ? messages.slice(start, end) : messages.slice(start, start + 1);
}

function isWhole([first, ...results]: readonly Message[]): boolean {
  if (first?.role === 'tool') return false;
  const called = first?.role === 'assistant' ? (first.tool_calls ?? []).map(({ id }) => id) : [];
  const answered = results.map((result) => (result.role === 'tool' ? result.tool_call_id : ''));
  return called.length === answered.length && new Set(called).size === called.length && isSame(called, answered);
}

function isSame(called: readonly string[], answered: readonly string[]): boolean {
  return called.every((id) => id !== '' && answered.includes(id));
}
