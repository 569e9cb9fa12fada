import type { FinishReason } from '../../contracts/model';
import type { JsonValue } from '../../util/json';

/**
 * Finish reasons with a known meaning, in the published words of OpenAI, Anthropic, Gemini, Bedrock, Cohere, DeepSeek, Mistral,
 * TGI, vLLM, watsonx and Z.ai.
 */
const WORDS: Readonly<Partial<Record<FinishReason, string>>> = {
  stop: 'stop end end_turn end_of_turn eos eos_token stop_token stop_sequence complete completed done normal tool_call tool_calls tool_use function_call',
  length:
    'length max_length max_tokens max_output_tokens model_length token_limit error_limit context_length_exceeded context_window_exceeded model_context_window_exceeded',
  cut: 'insufficient_system_resource network_error abort aborted cancelled canceled user_cancel interrupted incomplete pause_turn time_limit timeout malformed_function_call malformed_model_output malformed_tool_use unexpected_tool_call',
  'content-filter':
    'content_filter content_filtered error_toxic safety image_safety refusal recitation prohibited_content blocklist spii sensitive guardrail_intervened moderation',
  error: 'error',
};

/** Words that some servers write into each chunk of an unfinished reply. */
const NONE = new Set(['', 'null', 'none', 'unspecified', 'not_finished'].map(plain));

const KNOWN = new Map(
  Object.entries(WORDS).flatMap(([reason, words]) =>
    words.split(' ').map((word) => [plain(word), reason as FinishReason]),
  ),
);

/** Reports whether the field ends a reply. */
export function isFinishReason(raw: JsonValue | undefined): raw is string {
  return typeof raw === 'string' && !NONE.has(plain(raw));
}

/** Maps the provider's word: a missing one to `stop`, one outside the table to `unknown`. */
export function readFinishReason(raw: JsonValue | undefined): FinishReason {
  return isFinishReason(raw) ? (KNOWN.get(plain(raw)) ?? 'unknown') : 'stop';
}

/** Ignores case, separators and the name of the enumeration, as in `FinishReason.MAX_TOKENS`. */
function plain(word: string): string {
  return word
    .toLowerCase()
    .replaceAll(/[\s._-]/g, '')
    .replace(/^finishreason/, '');
}
