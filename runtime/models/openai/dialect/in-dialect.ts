import { APIError } from 'openai';

import type { Message } from '../../../contracts/message';
import type { ModelReply, ModelRequest } from '../../../contracts/model';
import type { RuntimeError } from '../../../errors/runtime-error';
import { isJsonObject, type JsonObject } from '../../../util/json';
import { errorParts } from '../../../util/text/error-words';
import { type Dialect, type Dialects, reductionsOf } from './dialect';
import { changedDialect, paramsOf } from './read-refusal';

interface Asking {
  readonly dialects: Dialects;
  readonly ask: (request: ModelRequest, dialect: Dialect) => Promise<ModelReply>;
  /** Converts a rejection of `ask` to an LLM_ error. */
  readonly toError: (thrown: unknown) => RuntimeError;
}

/** A request and the dialect to send it in. */
interface Try {
  readonly request: ModelRequest;
  readonly dialect: Dialect;
  readonly changes: number;
  readonly slips: number;
}

/** Limit of refused requests, which cost nothing. */
const MAX_CHANGES = 24;
const MAX_SLIPS = 2;

/**
 * Requests a reply in the model's dialect. Retries a refused request without the tool or field that the refusal names, and
 * remembers the changed dialect once the model answers. Reports malformed tool calls, which some providers refuse, to the
 * model. Rejects with an LLM_ error.
 */
export async function inDialect(request: ModelRequest, { dialects, ask, toError }: Asking): Promise<ModelReply> {
  const before = dialects.of(request);
  let trying: Try = { request, dialect: before, changes: 0, slips: 0 };
  for (;;) {
    const { dialect } = trying;
    try {
      const reply = await ask(trying.request, dialect);
      if (dialect !== before) dialects.keep(request, dialect);
      const reduced = reductionsOf(dialect, request, before);
      return reduced.length === 0 ? reply : { ...reply, reduced };
    } catch (thrown) {
      const error = toError(thrown);
      const answer: Failure | undefined = thrown instanceof APIError ? thrown : undefined;
      const next = answer === undefined || isFinal(request, error) ? undefined : nextTry(answer, error, trying);
      if (next === undefined) throw error;
      trying = next;
    }
  }
}

/** The fields read from an APIError. */
interface Failure {
  readonly status?: number;
  readonly error?: unknown;
  readonly message: string;
}

/** Reports an error that a changed request cannot resolve. */
function isFinal({ attempts, signal }: ModelRequest, { code }: RuntimeError): boolean {
  const isRefusal = code === 'LLM_BAD_REQUEST' || code === 'LLM_UNAVAILABLE';
  return !isRefusal || attempts.isShown === true || signal.aborted;
}

function nextTry(thrown: Failure, error: RuntimeError, trying: Try): Try | undefined {
  const { request, dialect, changes, slips } = trying;
  const body: ErrorBody = isJsonObject(thrown.error) ? thrown.error : {};
  const slip = slipIn(body);
  if (slip !== undefined) {
    const messages = [...request.messages, ...slip];
    return slips === MAX_SLIPS ? undefined : { ...trying, request: { ...request, messages }, slips: slips + 1 };
  }
  const { status } = thrown;
  if (status === undefined || !REFUSED.has(status) || changes === MAX_CHANGES) return undefined;
  const { message: words = thrown.message } = body;
  const reason = String(error.details.reason).slice(0, MAX_REASON_CHARS);
  const changed = changedDialect({ status, words, params: paramsOf(body), reason }, request, dialect);
  return changed === undefined ? undefined : { ...trying, dialect: changed, changes: changes + 1 };
}

/** The error of a reply, as `readError` returns it. */
type ErrorBody = JsonObject & { readonly message?: string; readonly kind?: string };

const MAX_REASON_CHARS = 200;
const REFUSED: ReadonlySet<number> = new Set([400, 404, 422, 500]);

const SLIP = /tool_use_failed|attempted to call tool|tool call validation failed|failed to parse tool call/i;
const MAX_GENERATION_CHARS = 4000;

/**
 * Returns the messages that report a malformed tool call to the model, or undefined for other errors.
 *
 * Source: Groq, "Tool use": `tool_use_failed`, with the model's output in `failed_generation`.
 */
function slipIn(error: ErrorBody): readonly Message[] | undefined {
  const { message = '', kind = '' } = error;
  if (!SLIP.test(`${kind} ${message}`)) return undefined;
  const written = errorParts(error).objects.map(({ failed_generation: text }) => text);
  const words = written.find((text) => typeof text === 'string' && text.trim() !== '') as string | undefined;
  return [
    { role: 'assistant', content: (words ?? '(a call of a tool)').slice(0, MAX_GENERATION_CHARS) },
    {
      role: 'user',
      content: `Your tool call could not be parsed: ${message.slice(0, MAX_REASON_CHARS)}\n\nCall one of your tools with arguments that match its schema, or answer without a tool.`,
    },
  ];
}
