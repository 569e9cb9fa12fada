import type { Message } from '../contracts/message';
import type { ModelReply, ModelRequest, RequestAttempts, ToolChoice } from '../contracts/model';
import type { StepRecord } from '../contracts/outcome';
import { RuntimeError } from '../errors/runtime-error';
import { toRuntimeError } from '../errors/to-runtime-error';
import { untilAborted } from '../util/abort';
import { elapsedMs, monotonicMs } from '../util/clock';
import type { LoopInput } from './loop-contract';
import { runToolCalls } from './run-tool-calls';
import { acceptCalls, answerText, singleToolReminder, withUniqueIds } from './transcript';

/** What a run knows between its steps. */
export interface RunState {
  readonly messages: Message[];
  readonly steps: StepRecord[];
  readonly toolCallIds: Set<string>;
  iterations: number;
}

export interface StepResult {
  readonly text: string;
  readonly truncated: boolean;
  readonly kind: 'answer' | 'tools' | 'empty' | 'filtered';
}

/** One model call, then the tool calls it asked for. Rejects when the model call fails or the run is stopped. */
export async function runStep(
  input: LoopInput,
  state: RunState,
  options: { readonly toolChoice: ToolChoice; readonly isLast: boolean },
): Promise<StepResult> {
  const callNo = ++state.iterations;
  input.emit({ type: 'step-start', step: callNo });
  const { reply, durationMs } = await callModel(input, state, { callNo, ...options });

  const accepted = acceptCalls(withUniqueIds(reply.message, callNo, state.toolCallIds), {
    toolChoice: options.toolChoice,
    isSingle: input.settings.toolExecution === 'single',
  });
  state.messages.push(accepted.message);
  const step = { number: callNo, calls: accepted.calls, finishReason: reply.finishReason };
  const results = await runToolCalls(input, step);
  state.messages.push(...results.map((result) => result.message));
  if (accepted.wereDropped) state.messages.push(singleToolReminder());

  state.steps.push({ callNo, finishReason: reply.finishReason, durationMs, toolCalls: results });
  emitStepEnd(input, callNo, reply);
  const text = answerText(accepted.message);
  return { text, truncated: reply.finishReason === 'length', kind: stepKind(accepted.calls.length, text, reply) };
}

function emitStepEnd(input: LoopInput, step: number, reply: ModelReply): void {
  const { promptTokens = 0, completionTokens = 0 } = reply.usage ?? {};
  input.emit({ type: 'step-end', step, promptTokens, completionTokens });
}

function stepKind(calls: number, text: string, reply: ModelReply): StepResult['kind'] {
  if (calls > 0) return 'tools';
  if (text !== '') return 'answer';
  return reply.finishReason === 'content-filter' ? 'filtered' : 'empty';
}

async function callModel(
  input: LoopInput,
  state: RunState,
  call: { readonly callNo: number; readonly toolChoice: ToolChoice; readonly isLast: boolean },
): Promise<{ reply: ModelReply; durationMs: number }> {
  const { settings } = input;
  const attempts: RequestAttempts = { sent: 0, answered: 0 };
  const startedAt = monotonicMs();
  const request: ModelRequest = {
    modelId: settings.modelId,
    messages: state.messages,
    tools: input.toolset.definitions,
    toolChoice: call.toolChoice,
    parallelToolCalls: settings.toolExecution !== 'single',
    temperature: settings.temperature,
    maxTokens: settings.maxTokens,
    timeoutMs: settings.modelTimeoutMs,
    signal: input.signal,
    attempts,
  };
  const ended = { callNo: call.callNo, attempts };
  const reply = await untilAborted(input.model.generate(request), input.signal).catch(async (thrown: unknown) => {
    const error = input.stopError() ?? toRuntimeError(thrown);
    await input.onModelCallEnd({ ...ended, durationMs: elapsedMs(startedAt), error, continues: false });
    throw error;
  });
  const durationMs = elapsedMs(startedAt);
  // An empty reply is asked for once more, so another call follows it too.
  const isAnswer = reply.message.tool_calls === undefined && answerText(reply.message) !== '';
  const continues = !isAnswer && !call.isLast;
  await input.onModelCallEnd({ ...ended, durationMs, reply, continues });
  // What came with it may be cut anywhere, so nothing of it is used; its usage counts.
  if (reply.finishReason === 'error') throw new RuntimeError('LLM_UNAVAILABLE', { reason: 'it broke off its reply' });
  return { reply, durationMs };
}
