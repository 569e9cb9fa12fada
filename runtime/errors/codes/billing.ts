import { caller, family, tenant, upstream, upstreamLater, warning } from '../code-row';

/** Prices, budgets and the bill. */
export const BILLING_CODES = family('Prices, budgets and the bill', {
  MODEL_UNPRICED: tenant(
    'Model "{model}" has no price, and a cost limit applies.',
    'Give it one with `universal-ai-agent price sync` or `price set`. A variant such as :free, or a dated id, needs its own.',
  ),
  MODEL_NOT_LISTED: caller(
    'The provider\'s list has no model "{model}" with a price. Nearest: {nearest}.',
    'Name a model of the list. Nothing was changed.',
  ),
  PRICE_INVALID: caller(
    'The price of model "{model}" cannot be stored exactly: {reason}.',
    'Give a price that fits, or have the owner of the table make the column NUMERIC. Nothing was changed.',
  ),
  PRICE_LIST_INVALID: upstream(
    'This is not a list of models with prices: {reason}.',
    'Name an address that answers as the `GET /models` of OpenRouter does (--from), or give such an answer (--list - < FILE).',
  ),
  PRICE_LIST_UNREACHABLE: upstreamLater(
    'The list of models at {source} cannot be read: {reason}.',
    'Check the address, or save the list to a file and give that: --list - < FILE.',
  ),
  BUDGET_EXCEEDED: tenant(
    'The {limit} of {amount} is used up.',
    'Raise the limit, or wait until the next month where it is a monthly one.',
  ),
  USAGE_ESTIMATED: warning(
    upstream(
      'The model provider reported no usable usage for {count} response(s); the tokens were estimated from the texts.',
      "Compare with the provider's own bill. A gateway may report usage once an option for streams is on.",
    ),
  ),
  USAGE_CONTRADICTORY: warning(
    upstream(
      'The token counts of the model provider are incomplete or do not add up in {count} case(s); the highest reading was billed: {first}.',
      "Compare with the provider's own bill.",
    ),
  ),
  REPLIES_WASTED: warning(
    upstream(
      '{count} response(s) of the model provider held no usable answer but were billed, since they report usage.',
      'Nothing to do, unless it happens often: then check the provider or the model.',
    ),
  ),
  COST_FROM_PROVIDER: warning(
    upstream(
      'The usage of call {step} has no price or is unreliable, so the cost reported by the model provider was booked: ${cost}.',
      "Compare with the provider's own bill.",
    ),
  ),
  COST_DIFFERS: warning(
    tenant(
      'The model provider reports ${theirs} for {count} response(s) that cost ${ours} by elo_model_pricing; the latter was billed.',
      'Correct the prices of the model in elo_model_pricing, or allow for fees that are not for tokens.',
    ),
  ),
  USAGE_RECORDED: warning(
    tenant(
      'The usage was recorded even though Record Usage is off, because the tenant has a monthly limit.',
      'Remove the limit of the tenant, or leave Record Usage on.',
    ),
  ),
  USAGE_UNPRICED: warning(
    tenant(
      'Model "{model}" has no price, so its tokens cost 0 here unless the provider reports their cost.',
      'Give it one with `universal-ai-agent price sync` or `price set`. A variant such as :free, or a dated id, needs its own.',
    ),
  ),
  USAGE_UNKNOWN: warning(
    upstream(
      '{count} request(s) to the model provider got no answer; their usage is unknown.',
      "Compare with the provider's own bill.",
    ),
  ),
});
