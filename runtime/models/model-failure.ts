import type { ErrorCode } from '../errors/codes';
import { RuntimeError } from '../errors/runtime-error';

const MAX_REASON_LENGTH = 500;

const STATUS_CODES: Readonly<Record<number, ErrorCode>> = {
  401: 'LLM_AUTH_FAILED',
  402: 'LLM_INSUFFICIENT_CREDITS',
  403: 'LLM_AUTH_FAILED',
  404: 'LLM_MODEL_NOT_FOUND',
  408: 'LLM_UNAVAILABLE',
  409: 'LLM_UNAVAILABLE',
  429: 'LLM_RATE_LIMITED',
};

/** What a provider answered instead of a reply, as one of our LLM_ codes. `status` is undefined where it did not answer at all. */
export function modelFailure(failure: {
  readonly model: string;
  readonly status: number | undefined;
  /** Already redacted; it is cut here. */
  readonly reason: string;
  /** The provider's own codes of the error. */
  readonly kind?: string;
}): RuntimeError {
  const { model, status, kind = '' } = failure;
  const details = { model, status, reason: failure.reason.slice(0, MAX_REASON_LENGTH) };
  return new RuntimeError(codeOf(status, details.reason, kind), details);
}

function codeOf(status: number | undefined, reason: string, kind: string): ErrorCode {
  if (status === undefined || status >= 500) return 'LLM_UNAVAILABLE';
  // OpenRouter says "No endpoints found that support tool use" with a 404, and "not a valid model ID" with a 400.
  if (NO_TOOLS.test(reason)) return 'LLM_NO_TOOL_SUPPORT';
  if (status === 400 && NO_MODEL.test(reason)) return 'LLM_MODEL_NOT_FOUND';
  if (FILTER_STATUSES.has(status) && isFiltered(reason, kind)) return 'LLM_CONTENT_FILTERED';
  return OF_FIELD.test(reason) ? 'LLM_BAD_REQUEST' : (STATUS_CODES[status] ?? 'LLM_BAD_REQUEST');
}

/** OpenRouter and Ollama, DeepSeek, vLLM, llama.cpp. */
const NO_TOOLS = /support (tools?\b|function.?calling)|--enable-auto-tool-choice|requires --jinja/i;
const NO_MODEL = /not a valid model|model.*not (found|exist)/i;
/** OpenRouter, with a 404. */
const OF_FIELD = /no endpoints found that support the provided/i;
const FILTER_STATUSES: ReadonlySet<number> = new Set([400, 403, 422, 451]);

/** The words of a refused schema may quote anything. */
function isFiltered(reason: string, kind: string): boolean {
  return FILTER_KINDS.test(kind) || (FILTERED.test(reason) && !/schema|parameters/i.test(`${kind} ${reason}`));
}

/** Codes of OpenAI and OpenRouter, Azure, Google and DashScope. */
const FILTER_KINDS =
  /\b(content_filter|content_policy_violation|moderation\w*|responsibleaipolicyviolation|prohibited_content|data_?inspection_?failed)\b/i;

/** Words of OpenRouter, OpenAI, Azure, DeepSeek and xAI. */
const FILTERED =
  /\b(input|prompt|request|message|content) (was |is |has been )?flagged|requires moderation|content (management|filtering) policy|content exists risk|violat\w{1,6} .{0,40}(usage|content|safety) (policy|policies|guidelines)/i;
