-- What a call has used that the bill did not take. It counts in the month of `unbilled_at` as long as the call is open, so that
-- a budget stays shut while no line can be written. The line that is written at last closes the call.
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS unbilled_at TIMESTAMPTZ;
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS unbilled_cost_usd NUMERIC;
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS unbilled_tokens BIGINT;
CREATE INDEX IF NOT EXISTS elo_agent_model_calls_unbilled ON elo_agent_model_calls (tenant_id)
  WHERE unbilled_at IS NOT NULL AND closed_at IS NULL;

CREATE OR REPLACE FUNCTION elo_agent_unbilled(p_tenant UUID, OUT cost NUMERIC, OUT tokens NUMERIC) LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(call.unbilled_cost_usd), 0), coalesce(sum(call.unbilled_tokens), 0) FROM elo_agent_model_calls AS call
  WHERE call.tenant_id = p_tenant AND call.closed_at IS NULL
    AND call.unbilled_at >= date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
$$;

-- As in 0004, with what is not on the bill.
CREATE OR REPLACE FUNCTION elo_agent_reserve(
  p_tenant UUID, p_run UUID, p_cost_limit NUMERIC, p_token_limit NUMERIC, p_adding_cost NUMERIC, p_adding_tokens NUMERIC
) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  spent_cost NUMERIC;
  spent_tokens NUMERIC;
  held_cost NUMERIC;
  held_tokens NUMERIC;
BEGIN
  IF p_cost_limit IS NULL AND p_token_limit IS NULL THEN RETURN 'ok'; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('universal-ai-agent budget ' || p_tenant, 0));
  SELECT spent.cost + unbilled.cost + p_adding_cost, spent.tokens + unbilled.tokens + p_adding_tokens, held.cost, held.tokens
  INTO spent_cost, spent_tokens, held_cost, held_tokens
  FROM (
    SELECT coalesce(sum(cost_usd), 0) AS cost, coalesce(sum(tokens), 0) AS tokens FROM elo_agent_monthly_usage
    WHERE tenant_id = p_tenant AND month = date_trunc('month', now() AT TIME ZONE 'UTC')::date
  ) AS spent, elo_agent_unbilled(p_tenant) AS unbilled, (
    SELECT coalesce(sum(run.held_cost_usd), 0) AS cost, coalesce(sum(run.held_tokens), 0) AS tokens FROM elo_agent_runs AS run
    WHERE run.tenant_id = p_tenant AND run.run_id <> p_run AND run.state = 'running' AND run.lease_until > now()
  ) AS held;
  IF spent_cost >= p_cost_limit OR spent_tokens >= p_token_limit THEN RETURN 'exceeded'; END IF;
  IF spent_cost + held_cost >= p_cost_limit OR spent_tokens + held_tokens >= p_token_limit THEN RETURN 'held'; END IF;
  RETURN 'ok';
END $$;

-- What a line has cost: exactly, where its column is too narrow or has too few places; what a person has changed, as it is.
CREATE OR REPLACE FUNCTION elo_agent_line_cost(p_shown NUMERIC, p_exact NUMERIC) RETURNS NUMERIC LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN p_exact > p_shown AND p_shown::text ~ '^9+([.]9+)?$' OR round(p_exact, scale(p_shown)) = p_shown THEN round(p_exact, 8)
    ELSE coalesce(nullif(p_shown, 'NaN'), 0)
  END
$$;

-- A trigger or a rule may drop a line without a word.
CREATE OR REPLACE FUNCTION elo_agent_miss_line() RETURNS TEXT LANGUAGE plpgsql AS $$
BEGIN
  RAISE 'a trigger or rule drops the lines of elo_t_token_usage' USING ERRCODE = 'UA002';
END $$;
