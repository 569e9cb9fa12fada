import { caller, family, tenant, upstream, upstreamLater, warning } from '../code-row';

/** Models and tiers. */
export const MODELS_CODES = family('Models and tiers', {
  TIER_UNKNOWN: caller(
    'Tier "{tier}" is not configured. Known tiers: {knownTiers}.',
    'Use a known tier, or add a row to elo_agent_tiers.',
  ),
  TIER_NOT_ALLOWED: tenant(
    'Tier "{tier}" is above the tenant\'s highest tier "{maxTier}".',
    'Ask for a lower tier, or raise settings.max_tier of the tenant.',
  ),
  MODEL_NOT_ALLOWED: tenant(
    'Model "{model}" belongs to no tier up to the tenant\'s highest tier "{maxTier}".',
    'Use a model of an allowed tier, or raise settings.max_tier of the tenant.',
  ),
  MODEL_MISSING: caller(
    'There is no model to ask: neither a credential of a model provider nor a connected chat model.',
    'Select a credential in the field "Credential for OpenRouter" (or "Credential for the Model Provider") of the node, or connect a chat model to its input Model. On the command line, set OPENROUTER_API_KEY.',
  ),
  MODEL_UNUSABLE: caller(
    'What is connected as {input} cannot be used: {reason}.',
    'Connect a chat model that can call tools.',
  ),
  LLM_AUTH_FAILED: caller(
    'The model provider refused the API key (HTTP {status}).',
    'Check the model provider credential.',
  ),
  LLM_INSUFFICIENT_CREDITS: caller(
    'The model provider account has no credit left (HTTP 402).',
    'Add credit to the account, or use a free tier.',
  ),
  LLM_MODEL_NOT_FOUND: tenant(
    'The model provider does not know model "{model}": {reason}',
    "Correct the tier's model_id in elo_agent_tiers, or the Model Override.",
  ),
  LLM_NO_TOOL_SUPPORT: tenant(
    'No provider offers model "{model}" with tools: {reason}',
    'Use another model for this tier, or give this tier no tools.',
  ),
  LLM_RATE_LIMITED: upstreamLater(
    'The model provider limited the rate of requests: {reason}',
    'Try again later, or use another tier.',
  ),
  LLM_TIMEOUT: upstreamLater(
    'The model sent nothing for {timeoutSeconds} seconds.',
    'Try again, use a faster model, or raise model_silence_seconds.',
  ),
  LLM_UNAVAILABLE: upstreamLater(
    'The model provider cannot be reached or failed: {reason}',
    'Try again later; check the base URL of the credential.',
  ),
  LLM_BAD_REQUEST: tenant(
    'The model provider refused the request (HTTP {status}): {reason}',
    'Check the tool schemas and the parameters of the tier.',
  ),
  LLM_BAD_REPLY: upstreamLater(
    'The model provider sent a reply that is not a chat completion: {reason}',
    'Check that the base URL is an OpenAI-compatible API.',
  ),
  LLM_EMPTY_REPLY: upstreamLater(
    'The model answered with neither text nor tool calls, twice.',
    'Try again, or use another model.',
  ),
  LLM_CONTENT_FILTERED: upstream(
    "The model provider's content filter refused the request or withheld the answer: {reason}",
    'Change the message, or use another model.',
  ),
  LLM_CALL_CUT: upstream(
    'The model provider ended the reply with "{reason}" within a call of a tool, which is not made.',
    'Raise the limit of tokens, or use another model.',
  ),
  LLM_REPLY_INCOMPLETE: warning(
    upstream(
      'The model provider ended a reply with "{reason}", so it may not be whole.',
      'Check the answer, or use another model; tool calls of such a reply were not executed.',
    ),
  ),
  REQUEST_REDUCED: warning(
    tenant(
      'Model "{model}" refused {what}, so it was asked without: {reason}',
      "Correct the tool's schema or leave the setting out, or use another model.",
    ),
  ),
  MODEL_FALLBACK: warning(
    upstream(
      'Model "{model}" failed with {code}, so the fallback "{fallback}" answered.',
      'Nothing to do, unless it happens often: then check the first model.',
    ),
  ),
  MODEL_SETTINGS_UNUSED: warning(
    caller(
      'A connected chat model answers, so these settings of the task were not used: {settings}.',
      'Set them on the connected chat model, or leave them out of the task.',
    ),
  ),
});
