import { createHash } from 'node:crypto';

import pRetry from 'p-retry';

import type { RequestStore } from '../../contracts/callback';
import type { QueueTask, TaskAnswer } from '../../contracts/queue';
import type { OutgoingReply, OutgoingRequest } from '../../contracts/tools/outgoing';
import type { ErrorCode } from '../../errors/codes';
import { type ErrorDetails, RuntimeError } from '../../errors/runtime-error';
import { elapsedMs, monotonicMs, newId, sleep } from '../../util/clock';
import { parseExactly } from '../../util/exact-integer';
import { canonicalJson, type JsonValue, tryParseJson } from '../../util/json';
import { clipText } from '../../util/text/clip-text';
import type { TaskContext, TaskPorts } from './task-handler';

/** The one request of a task. */
export interface TaskRequest extends Pick<OutgoingRequest, 'url' | 'method' | 'headers' | 'body'> {
  /** Sending it twice does no harm. */
  readonly isRepeatable: boolean;
}

const TIMEOUT_MS = 30_000;
/** Longer than a request can take: who holds it longer is gone. */
const LEASE_MS = 35_000;
const LONGEST_PAUSE_MS = 500;
/** About 20 seconds: a Redis that starts again just then must not cost an answer that is there. */
const KEEP_RETRY = { retries: 8, minTimeout: 250, maxTimeout: 4000 };
const LIMIT_BYTES = 64 * 1024;
/** The most bytes of an answer in the text of an error. */
const SHOWN_BYTES = 1000;
/** What may pass by itself. */
const PASSING: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

/** What became of it, as it is kept for a second attempt. */
type Outcome = { readonly answer: TaskAnswer } | { readonly code: ErrorCode; readonly details: ErrorDetails };

/**
 * Sends the request of a task. One that must not be repeated is sent at most once, over all attempts and processes:
 * the intent is on record before it leaves, and a later attempt gets the outcome that is on record, or TASK_OUTCOME_UNKNOWN.
 * Rejects with TASK_REQUEST_REFUSED, TASK_HTTP_ERROR, TASK_CONFLICT, REDIS_UNAVAILABLE, and TASK_REQUEST_FAILED
 * when it may be tried again.
 */
export async function sendTaskRequest(
  task: QueueTask,
  request: TaskRequest,
  { ports, context }: { readonly ports: TaskPorts; readonly context: TaskContext },
): Promise<TaskAnswer> {
  const startedAt = monotonicMs();
  const send = async (signal?: AbortSignal): Promise<OutgoingReply> =>
    ports.outgoing.send({ ...request, timeoutMs: TIMEOUT_MS, limitBytes: LIMIT_BYTES, signal }, context.rules);
  if (request.isRepeatable) {
    const reply = await send(context.signal);
    if (reply.kind === 'broken') refuseCancelled(context.signal);
    return unwrap(outcomeOf(reply, request, elapsedMs(startedAt)) ?? failed(reply));
  }
  if (ports.requests === undefined)
    throw new RuntimeError('REDIS_MISSING', { what: 'A request that must not be repeated' });
  const { requests } = ports;
  const intent = intentOf(task, context);
  const known = await begin(requests, intent, { task, signal: context.signal });
  if (known !== undefined) return unwrap(known);
  // Not broken off on cancel: nobody would know what became of it.
  const reply = await send();
  const outcome = reply.kind === 'broken' ? unknown(task) : outcomeOf(reply, request, elapsedMs(startedAt));
  const kept = outcome === undefined ? undefined : JSON.stringify(outcome);
  await pRetry(async () => requests.end({ ...intent, outcome: kept }), KEEP_RETRY);
  return unwrap(outcome ?? failed(reply));
}

type Intent = Parameters<RequestStore['begin']>[0];

function intentOf(task: QueueTask, { tenantId, fresh }: TaskContext): Intent {
  const digest = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex');
  const { task_id, task_type, config, meta } = task;
  const marker = digest([tenantId, task_id]);
  return { marker, digest: digest({ task_type, config, meta }), holder: newId(), leaseMs: LEASE_MS, fresh };
}

/** Undefined when the request is ours to send. */
async function begin(
  requests: RequestStore,
  intent: Intent,
  { task, signal }: { readonly task: QueueTask; readonly signal?: AbortSignal },
): Promise<Outcome | undefined> {
  for (;;) {
    refuseCancelled(signal);
    const turn = await requests.begin(intent);
    if (turn.kind === 'ours') return undefined;
    if (turn.kind === 'ended') return parseExactly(turn.outcome) as Outcome;
    if (turn.kind === 'lost') return unknown(task);
    if (turn.kind === 'conflict') throw new RuntimeError('TASK_CONFLICT', { taskId: task.task_id });
    await sleep(Math.min(turn.waitMs, LONGEST_PAUSE_MS), signal).catch(() => undefined);
  }
}

export function refuseCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new RuntimeError('RUN_CANCELLED');
}

function unknown({ task_id: taskId }: QueueTask): Outcome {
  return { code: 'TASK_OUTCOME_UNKNOWN', details: { taskId } };
}

/** Undefined when nothing is settled, and the request may be sent again. */
function outcomeOf(reply: OutgoingReply, { isRepeatable }: TaskRequest, durationMs: number): Outcome | undefined {
  if (reply.kind !== 'answered') return undefined;
  const { status, text, isCut } = reply;
  if (status >= 200 && status < 300) return { answer: answerOf(reply, durationMs) };
  if (isRepeatable && PASSING.includes(status)) return undefined;
  return { code: 'TASK_HTTP_ERROR', details: { status, body: shown(text, isCut) } };
}

function failed(reply: OutgoingReply): Outcome {
  if (reply.kind === 'refused') return { code: 'TASK_REQUEST_REFUSED', details: { reason: reply.reason } };
  const reason = reply.kind === 'answered' ? `the server answered HTTP ${reply.status}` : reply.reason;
  return { code: 'TASK_REQUEST_FAILED', details: { reason } };
}

function unwrap(outcome: Outcome): TaskAnswer {
  if ('answer' in outcome) return outcome.answer;
  throw new RuntimeError(outcome.code, outcome.details);
}

function answerOf(
  { status, text, isCut }: Extract<OutgoingReply, { kind: 'answered' }>,
  durationMs: number,
): TaskAnswer {
  const parsed = isCut ? undefined : tryParseJson(text);
  const body: JsonValue = parsed?.ok === true ? parsed.value : text;
  const result = { status, body, ...(isCut ? { truncated: true } : {}) };
  return { result, model_used: null, tokens_used: 0, duration_ms: durationMs, error: null };
}

function shown(text: string, isCut: boolean): string {
  const clipped = clipText(text, SHOWN_BYTES);
  return `${clipped.text}${clipped.isCut || isCut ? '…' : ''}`;
}
