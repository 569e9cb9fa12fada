import type { OutputFormat, ParsedOutput } from '../contracts/connected';
import { isCut } from '../contracts/model';
import type { CheckedFor } from '../contracts/tools/tool';
import { errorText } from '../errors/to-runtime-error';
import { untilAborted } from '../util/abort';
import type { JsonValue } from '../util/json';
import { clipText } from '../util/text/clip-text';
import type { LoopInput } from './loop-contract';
import type { OpenStep, RunState } from './run-state';
import { answerText } from './transcript';

const MAX_ISSUES_BYTES = 1000;

/** A reply, classified. */
export interface ReadReply {
  readonly text: string;
  readonly truncated: boolean;
  /** `repair`: the answer was not of the required form and is asked for again; `refused`: it was not, once more. */
  readonly kind: 'answer' | 'tools' | 'empty' | 'filtered' | 'repair' | 'refused';
  /** The value of an answer that had to have a form. */
  readonly structured?: JsonValue;
  /** What was wrong with it. */
  readonly issues?: string;
}

/** Classifies a reply, and checks an answer against its required form. Rejects only when the run is stopped. */
export async function readReply(input: LoopInput, state: RunState, step: OpenStep): Promise<ReadReply> {
  const { format, stop, scope } = input;
  const text = step.given ?? answerText(step.message);
  const reply = { text, truncated: isCut(step.finishReason), kind: kindOf(step, text) };
  if (reply.kind !== 'answer' || format === undefined) return reply;
  // It would decline again.
  if (step.finishReason === 'refusal') return { ...reply, kind: 'refused', issues: `the model declined: ${text}` };
  const checkedFor = { tenantId: scope.meta.tenant_id, signal: stop.signal };
  const read = await readAnswer(format, { text, isCall: step.given !== undefined }, checkedFor);
  if (!read.ok) {
    return { ...reply, kind: state.repair.length > 0 || step.isLast ? 'refused' : 'repair', issues: read.issues };
  }
  // An answer that had to be asked for twice was one answer, for whoever reads the conversation later.
  for (const message of state.repair.splice(0)) state.messages.splice(state.messages.indexOf(message), 1);
  return { ...reply, structured: read.value };
}

/** The run ends with it, well or not. */
export function isEnd({ kind }: ReadReply): boolean {
  return kind === 'answer' || kind === 'refused';
}

function kindOf({ calls, finishReason }: OpenStep, text: string): ReadReply['kind'] {
  if (calls.length > 0) return 'tools';
  if (text !== '') return 'answer';
  return finishReason === 'content-filter' ? 'filtered' : 'empty';
}

async function readAnswer(
  format: OutputFormat,
  answer: Parameters<OutputFormat['parse']>[0],
  checkedFor: CheckedFor & { readonly signal: AbortSignal },
): Promise<ParsedOutput> {
  const { signal } = checkedFor;
  let issues: string;
  try {
    const parsed = await untilAborted(format.parse(answer, checkedFor), signal);
    if (parsed.ok) return parsed;
    ({ issues } = parsed);
  } catch (error) {
    signal.throwIfAborted();
    issues = errorText(error);
  }
  return { ok: false, issues: clipText(issues, MAX_ISSUES_BYTES).text };
}
