/**
 * The description of both nodes: n8n's list of nodes merges `X` and `XTrigger` into one entry, under the name of the first
 * and with the text of the second.
 */
export const DESCRIPTION =
  'AI agent for many tenants, with tools, models and budgets from your Postgres. Runs at once, or for each task on a Redis list.';
