import type { OutputFormat } from '../contracts/connected';
import type { SettledModelCall } from '../contracts/ledger/account';
import type { Usage } from '../contracts/ledger/usage';
import { wordsOf } from '../contracts/message';
import type { Model, ModelReply, ModelRequest, ReplyUsage, ToolChoice } from '../contracts/model';
import type { ToolDefinition } from '../contracts/tools/tool-shapes';
import { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { untilAborted, within } from '../util/abort';
import { elapsedMs, monotonicMs } from '../util/clock';
import type { Redact } from '../util/redaction/redact';
import { turn } from '../util/turn';
import type { LoopInput, LoopSettings } from './loop-contract';
import type { OpenStep, RunState } from './run-state';
import { showDeltas } from './show-deltas';
import { acceptCalls, takeAnswer, withFinalAnswerRequest, withUniqueIds } from './transcript';

/**
 * The next model call, with the calls of its reply that will be answered. When all steps are used it is asked for its answer.
 * Rejects when the call fails, the run is stopped, or steps have failed too often.
 */
export async function askModel(input: LoopInput, state: RunState): Promise<OpenStep> {
  const { settings } = state.asks;
  const call = nextCall(settings, state);
  const stop = input.stop.error() ?? (call.isFinal ? undefined : repeatedErrors(input, state));
  if (stop !== undefined) throw stop;
  if (call.isFinal) state.messages.push(...withFinalAnswerRequest(state.messages.splice(-1), input.format?.tool.name));
  const step = ++state.iterations;
  input.emit({ type: 'step-start', step });
  const { reply, usage, durationMs } = await callModel(input, state, { step, toolChoice: call.toolChoice });
  const { message, given } = takeAnswer(reply.message, input.format?.tool.name);
  const accepted = acceptCalls(withUniqueIds(message, { step, seen: state.calls.ids, redact: input.scope.redact }), {
    toolChoice: call.toolChoice,
    isSingle: settings.toolExecution === 'single',
  });
  state.messages.push(accepted.message);
  await turn();
  const { promptTokens = 0, completionTokens = 0 } = usage ?? {};
  return {
    step,
    finishReason: reply.finishReason,
    durationMs,
    ...accepted,
    sent: [],
    outcomes: {},
    isLast: call.isLast,
    isFinal: call.isFinal,
    given,
    tokens: { promptTokens, completionTokens },
  };
}

function nextCall(
  { limits, onMaxIterations, toolChoice }: LoopSettings,
  { iterations }: RunState,
): Pick<OpenStep, 'isLast' | 'isFinal'> & { readonly toolChoice: ToolChoice } {
  if (iterations >= limits.maxIterations) return { toolChoice: 'none', isLast: true, isFinal: true };
  return {
    // `required` holds for the first step only: forced for ever, the model could never answer.
    toolChoice: toolChoice === 'required' && iterations > 0 ? 'auto' : toolChoice,
    isLast: iterations + 1 >= limits.maxIterations && onMaxIterations !== 'finalAnswer',
    isFinal: false,
  };
}

/** A model that must not call tools may still give its answer through the one that takes it. */
function toolsOfCall(
  tools: readonly ToolDefinition[],
  toolChoice: ToolChoice,
  format: OutputFormat | undefined,
): { readonly tools: readonly ToolDefinition[]; readonly toolChoice: ToolChoice } {
  return toolChoice === 'none' && format !== undefined
    ? { tools: [format.tool], toolChoice: 'auto' }
    : { tools, toolChoice };
}

/** A model that fails in every call for several steps is stuck; more steps only cost more. */
function repeatedErrors({ settings: { limits } }: LoopInput, { steps }: RunState): RuntimeError | undefined {
  const count = limits.maxErrorSteps;
  const last = steps.slice(-count);
  if (last.length < count) return undefined;
  if (
    !last.every((step) => step.toolCalls.length > 0 && step.toolCalls.every(({ outcome }) => outcome?.isError === true))
  )
    return undefined;
  const lastCode = last.at(-1)?.toolCalls.at(-1)?.outcome?.code;
  return new RuntimeError('TOOL_ERRORS_REPEATED', { count, lastCode });
}

async function callModel(
  input: LoopInput,
  state: RunState,
  call: { readonly step: number; readonly toolChoice: ToolChoice },
): Promise<AnsweredCall> {
  const { scope, stop, observer } = input;
  const { model, settings } = state.asks;
  const tools = toolsOfCall(state.asks.tools, call.toolChoice, input.format);
  const shown = settings.streams === true ? showDeltas(input, call.step) : undefined;
  const request: ModelRequest = {
    modelId: settings.modelId,
    messages: state.messages,
    ...tools,
    parallelToolCalls: settings.toolExecution !== 'single',
    temperature: settings.temperature,
    maxTokens: settings.maxTokens,
    tenantId: scope.meta.tenant_id,
    silenceMs: settings.modelSilenceMs,
    signal: stop.signal,
    redact: scope.redact,
    attempts: { sent: 0, answered: 0 },
    ...(shown === undefined ? {} : { onDelta: shown.push }),
  };
  return makeModelCall({ model, request, step: call.step, onReply: shown?.end }, { stop, observer });
}

/** A model call, and what is to be told when its reply is whole. */
interface CallToMake extends Pick<SettledModelCall, 'request' | 'step'> {
  readonly model: Model;
  readonly onReply?: () => void;
}

interface AnsweredCall {
  readonly reply: ModelReply;
  /** Reported or estimated. */
  readonly usage: Usage | undefined;
  readonly durationMs: number;
}

/** Account that a call is charged to, and the signal that stops it. */
interface CallGuard extends Pick<LoopInput, 'stop'> {
  readonly observer: Pick<LoopInput['observer'], 'modelCallEnded' | 'modelSettledLate'>;
}

/**
 * Makes a model call and has it charged whatever comes of it, also where it answers after it was stopped. Rejects with an LLM_ error, or
 * with that of the stop.
 */
export async function makeModelCall(
  { model, request, step, onReply }: CallToMake,
  { stop, observer }: CallGuard,
): Promise<AnsweredCall> {
  const { attempts, redact, signal } = request;
  const startedAt = monotonicMs();
  const clean = <T extends ReplyUsage>(reply: T): T => withoutSecrets(reply, redact);
  const ended = { step, request };
  const generated = model.generate(request);
  const received = await untilAborted(generated, signal)
    .catch(async (thrown: unknown) => {
      await keepLateReply(generated, { ...ended, observer });
      throw thrown;
    })
    .finally(() => {
      attempts.wasted = attempts.wasted?.map(clean);
    })
    .catch(async (thrown: unknown) => {
      const error = stop.error() ?? toRuntimeError(thrown);
      await observer.modelCallEnded({ ...ended, durationMs: elapsedMs(startedAt), error });
      throw error;
    });
  const reply = clean(received);
  onReply?.();
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
  { observer, step, request }: Pick<SettledModelCall, 'step' | 'request'> & Pick<CallGuard, 'observer'>,
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
