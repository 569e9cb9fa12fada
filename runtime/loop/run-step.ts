import type { PendingStep } from '../contracts/ledger/progress';
import type { Step } from '../contracts/ledger/step';
import type { Usage } from '../contracts/ledger/usage';
import { wordsOf } from '../contracts/message';
import {
  isCut,
  type ModelReply,
  type ModelRequest,
  type ReplyUsage,
  type RequestAttempts,
  type ToolChoice,
} from '../contracts/model';
import { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { untilAborted, within } from '../util/abort';
import { elapsedMs, monotonicMs } from '../util/clock';
import type { JsonValue } from '../util/json';
import type { Redact } from '../util/redaction/redact';
import { turn } from '../util/turn';
import { executeToolCalls } from './execute-tool-calls';
import { readAnswer, repairRequest, takeAnswer, toolsOfCall } from './formatted-answer';
import type { LoopInput, OpenedStep, SettledModelCall } from './loop-contract';
import { type AskedCall, prepareToolCalls } from './prepare-tool-calls';
import type { OpenStep, RunState } from './run-state';
import { showDeltas } from './show-deltas';
import { acceptCalls, answerText, withSingleToolReminder, withUniqueIds } from './transcript';

export interface StepResult {
  readonly text: string;
  readonly truncated: boolean;
  /** `repair`: the answer was not of the required form and is asked for again; `refused`: it was not, once more. */
  readonly kind: 'answer' | 'tools' | 'empty' | 'filtered' | 'ask' | 'repair' | 'refused';
  /** The value of an answer that had to have a form. */
  readonly structured?: JsonValue;
  /** What was wrong with it. */
  readonly issues?: string;
  /** Set for `ask`: the call that waits for a person. Nothing of the step has run. */
  readonly asked?: AskedCall & { readonly pending: PendingStep };
}

/** One model call, then the tool calls it asked for. Rejects when the model call fails or the run is stopped. */
export async function runStep(
  input: LoopInput,
  state: RunState,
  options: { readonly toolChoice: ToolChoice; readonly isLast: boolean },
): Promise<StepResult> {
  const step = ++state.iterations;
  input.emit({ type: 'step-start', step });
  const { reply, usage, durationMs } = await callModel(input, state, { step, toolChoice: options.toolChoice });
  const { message, given } = takeAnswer(reply.message, input.format);
  const accepted = acceptCalls(withUniqueIds(message, { step, seen: state.calls.ids, redact: input.scope.redact }), {
    toolChoice: options.toolChoice,
    isSingle: input.settings.toolExecution === 'single',
  });
  state.messages.push(accepted.message);
  await turn();
  const { promptTokens = 0, completionTokens = 0 } = usage ?? {};
  const result = await finishStep(input, state, {
    step,
    finishReason: reply.finishReason,
    durationMs,
    ...accepted,
    sent: [],
    outcomes: {},
    isLast: options.isLast,
    given,
  });
  input.emit({ type: 'step-end', step, promptTokens, completionTokens });
  return result;
}

/** The tool calls of a step, unless one of them waits for a person. */
export async function finishStep(input: LoopInput, state: RunState, open: OpenStep): Promise<StepResult> {
  const { step, finishReason, durationMs } = open;
  const judged = await judge(input, state, open);
  const result = { ...judged, truncated: isCut(finishReason) };
  const opened = openedStep(open, state);
  const isEnd = judged.kind === 'answer' || judged.kind === 'refused';
  if (!isEnd) input.observer.stepOpened(opened);
  const plan = await untilAborted(prepareToolCalls(input, state, open), input.stop.signal);
  if (plan.asked !== undefined) {
    return {
      ...result,
      kind: 'ask',
      asked: { ...plan.asked, pending: { ...asWritten(open), outcomes: open.outcomes } },
    };
  }
  // An empty reply is asked for once more, so another call follows it too.
  const isLast = open.isLast || isEnd;
  if (!isLast || plan.runnable.length > 0) {
    const rulings = await input.observer.beforeToolCalls({
      next: isLast ? undefined : step + 1,
      calls: plan.runnable,
      step: { ...opened, sending: plan.places },
    });
    await untilAborted(plan.apply(rulings), input.stop.signal);
  }
  const ended = await executeToolCalls(input, state, { step, calls: plan.calls });
  const results = ended.map(({ message }) => message);
  state.messages.push(...(open.wereDropped ? withSingleToolReminder(results) : results));
  if (judged.kind === 'repair') askForRepair(open, judged, state);
  state.steps.push({ step, finishReason, durationMs, toolCalls: ended.map(({ record }) => record) });
  return result;
}

function askForRepair({ message }: OpenStep, { issues }: Judged, state: RunState): void {
  const request = repairRequest(issues);
  state.messages.push(request);
  state.repair.push(message, request);
}

type Judged = Pick<StepResult, 'text' | 'kind' | 'structured'> & { readonly issues?: string };

/** What a reply is, and whether an answer has the form that it must have. */
async function judge(input: LoopInput, state: RunState, step: OpenStep): Promise<Judged> {
  const { format, stop, scope } = input;
  const text = step.given ?? answerText(step.message);
  const kind = stepKind(step, text);
  if (kind !== 'answer' || format === undefined) return { text, kind };
  // It would decline again.
  if (step.finishReason === 'refusal') return { text, kind: 'refused', issues: `the model declined: ${text}` };
  const read = await readAnswer(
    format,
    { text, isCall: step.given !== undefined },
    { tenantId: scope.meta.tenant_id, signal: stop.signal },
  );
  if (!read.ok)
    return { text, kind: state.repair.length > 0 || step.isLast ? 'refused' : 'repair', issues: read.issues };
  // An answer that had to be asked for twice was one answer, for whoever reads the conversation later.
  for (const message of state.repair.splice(0)) state.messages.splice(state.messages.indexOf(message), 1);
  return { text, kind, structured: read.value };
}

function openedStep(open: OpenStep, state: RunState): OpenedStep {
  return {
    ...asWritten(open),
    ...(open.step === 1 && state.keepsOpening ? { opening: state.messages.slice(0, state.openingLength) } : {}),
    callCounts: Object.fromEntries(state.calls.counts),
    approvals: state.approvals,
  };
}

/** What of a step goes on record. */
function asWritten({ step, finishReason, durationMs, message, calls, wereDropped, sent }: OpenStep): Step {
  const shown = message.tool_calls ?? [];
  const isSame = shown.length === calls.length && calls.every((call, index) => call === shown[index]);
  return { step, finishReason, durationMs, message, calls: isSame ? undefined : calls, wereDropped, sent };
}

function stepKind({ calls, finishReason }: OpenStep, text: string): StepResult['kind'] {
  if (calls.length > 0) return 'tools';
  if (text !== '') return 'answer';
  return finishReason === 'content-filter' ? 'filtered' : 'empty';
}

async function callModel(
  input: LoopInput,
  state: RunState,
  call: { readonly step: number; readonly toolChoice: ToolChoice },
): Promise<{ reply: ModelReply; usage: Usage | undefined; durationMs: number }> {
  const { settings, observer } = input;
  const attempts: RequestAttempts = { sent: 0, answered: 0 };
  const startedAt = monotonicMs();
  const shown = settings.streams === true ? showDeltas(input, call.step) : undefined;
  const request: ModelRequest = {
    modelId: settings.modelId,
    messages: state.messages,
    ...toolsOfCall(state.tools, call.toolChoice, input.format),
    parallelToolCalls: settings.toolExecution !== 'single',
    temperature: settings.temperature,
    maxTokens: settings.maxTokens,
    tenantId: input.scope.meta.tenant_id,
    silenceMs: settings.modelSilenceMs,
    signal: input.stop.signal,
    redact: input.scope.redact,
    attempts,
    ...(shown === undefined ? {} : { onDelta: shown.push }),
  };
  const ended = { step: call.step, request };
  const generated = input.model.generate(request);
  const received = await untilAborted(generated, input.stop.signal)
    .catch(async (thrown: unknown) => {
      await keepLateReply(generated, { ...ended, observer });
      throw thrown;
    })
    .finally(() => {
      attempts.wasted = attempts.wasted?.map((wasted) => withoutSecrets(wasted, input.scope.redact));
    })
    .catch(async (thrown: unknown) => {
      const error = input.stop.error() ?? toRuntimeError(thrown);
      await observer.modelCallEnded({ ...ended, durationMs: elapsedMs(startedAt), error });
      throw error;
    });
  const reply = withoutSecrets(received, input.scope.redact);
  shown?.end();
  const durationMs = elapsedMs(startedAt);
  const usage = await observer.modelCallEnded({ ...ended, durationMs, reply });
  // What came with it may be cut anywhere, so nothing of it is used; its usage counts.
  if (reply.finishReason === 'error') throw new RuntimeError('LLM_UNAVAILABLE', { reason: 'it broke off its reply' });
  return { reply, usage, durationMs };
}

/** Grace for a model call whose run was stopped; a model that obeys the signal ends sooner. */
const LATE_MS = 500;

/** Books the usage of a reply that arrives while its run is being stopped, or later: the run drops it, but it was paid for. */
async function keepLateReply(
  generated: Promise<ModelReply>,
  { observer, step, request }: Pick<SettledModelCall, 'step' | 'request'> & Pick<LoopInput, 'observer'>,
): Promise<void> {
  const late = await within(LATE_MS, generated);
  if (late === undefined) {
    void generated
      .then(
        (reply) => withoutSecrets(reply, request.redact),
        () => undefined,
      )
      .then((reply) => observer.modelSettledLate({ step, request, reply }))
      .catch(() => undefined);
    return;
  }
  const { message, finishReason: _reason, finishWord: _word, fallback, ...used } = late;
  const modelId = fallback?.name ?? request.modelId;
  (request.attempts.wasted ??= []).push({ written: wordsOf(message), ...used, modelId });
}

/** What of a reply goes into the ledger as it is. */
function withoutSecrets<T extends ReplyUsage & Pick<Partial<ModelReply>, 'finishWord'>>(
  reply: T,
  redact: Redact | undefined,
): T {
  if (redact === undefined) return reply;
  const clean = (text: string | undefined): string | undefined => (text === undefined ? undefined : redact(text));
  return {
    ...reply,
    finishWord: clean(reply.finishWord),
    modelReturned: clean(reply.modelReturned),
    providerRequestId: clean(reply.providerRequestId),
  };
}
