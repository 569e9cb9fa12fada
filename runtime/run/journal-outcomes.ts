import type { EndedToolCall } from '../contracts/tool-call';
import type { RunRecord } from '../ledger/run-record';
import type { JsonObject, JsonValue } from '../util/json';

/**
 * Puts tool calls that ended into the journal; those that must not be made again soon. One that was cancelled on its way is
 * left out: nobody knows what became of it, and the next run is told so. One whose turn never came is withdrawn.
 */
export function journalOutcomes(
  record: RunRecord,
  variables: ReadonlyMap<string, JsonValue>,
): (call: EndedToolCall) => void {
  const changed = changesOf(variables);
  return ({ step, toolCallId, outcome, isOnce, wasSent }) => {
    if (outcome === undefined) return;
    if (!wasSent) record.withdraw(toolCallId);
    else if (outcome.code !== 'TOOL_CANCELLED') {
      record.journal({ step, toolCallId, outcome, variables: changed() }, isOnce);
    }
  };
}

/** All of them, when any has changed since the last time. */
function changesOf(variables: ReadonlyMap<string, JsonValue>): () => JsonObject | undefined {
  const asText = (): string => (variables.size === 0 ? '{}' : JSON.stringify(Object.fromEntries(variables)));
  let known = asText();
  return () => {
    const now = asText();
    if (now === known) return undefined;
    known = now;
    return Object.fromEntries(variables);
  };
}
