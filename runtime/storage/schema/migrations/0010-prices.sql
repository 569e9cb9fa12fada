-- Prices that know caches and reasoning, what caches have saved, and lines of the bill of any size.

-- NULL: as input, as input, as cache_write_cost_per_1m, as output. A table of another owner, who has added them, stays as it is.
DO $$
BEGIN
ALTER TABLE elo_model_pricing ADD COLUMN IF NOT EXISTS cached_input_cost_per_1m NUMERIC;
ALTER TABLE elo_model_pricing ADD COLUMN IF NOT EXISTS cache_write_cost_per_1m NUMERIC;
ALTER TABLE elo_model_pricing ADD COLUMN IF NOT EXISTS cache_write_1h_cost_per_1m NUMERIC;
ALTER TABLE elo_model_pricing ADD COLUMN IF NOT EXISTS reasoning_cost_per_1m NUMERIC;
EXCEPTION WHEN insufficient_privilege THEN NULL;
END $$;

ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS cache_write_tokens BIGINT;
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS cache_write_1h_tokens BIGINT;
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS saved_exact NUMERIC;
-- Of either kind.
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS cache_write_tokens INT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS saved_exact NUMERIC;

-- A table that had no is_free got it a moment ago, with its default; the documents' free tier is free there too.
UPDATE elo_agent_tiers SET is_free = true
WHERE code = 'nano' AND EXISTS (
  SELECT FROM pg_attribute AS attribute
  WHERE attribute.attrelid = 'elo_agent_tiers'::regclass AND attribute.attname = 'is_free'
    AND attribute.xmin::text = (txid_current() & 4294967295)::text
);

-- DECIMAL(12, 8) ends at $9,999.99999999. The table that we made is widened; an adopted one is its installation's, and
-- `db status` tells how. So it does where something of others hangs on the column.
DO $$
DECLARE
  monthly RECORD;
BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_attribute AS attribute
    WHERE attribute.attrelid = to_regclass('elo_t_token_usage') AND attribute.attname = 'cost_usd' AND attribute.attnotnull
      AND format_type(attribute.atttypid, attribute.atttypmod) = 'numeric(12,8)'
  ) OR EXISTS (
    SELECT FROM pg_attribute AS attribute
    WHERE attribute.attrelid = to_regclass('elo_t_token_usage') AND attribute.attnum > 0 AND NOT attribute.attisdropped
      AND attribute.attname NOT IN (
        'id', 'tenant_id', 'trace_id', 'task_id', 'model_id', 'agent_tier', 'prompt_tokens', 'completion_tokens', 'total_tokens',
        'cost_usd', 'task_type', 'created_at', 'run_id', 'cached_tokens', 'reasoning_tokens', 'model_calls', 'cost_exact',
        'provider_cost_usd', 'cache_write_tokens', 'saved_exact'
      )
  ) THEN RETURN; END IF;
  SELECT pg_get_viewdef(class.oid) AS text, array_to_string(class.reloptions, ', ') AS options INTO monthly
  FROM pg_class AS class WHERE class.oid = to_regclass('elo_v_tenant_monthly_usage') AND class.relkind = 'v';
  -- For a moment the view does not read the column. Dropped and made anew, it would lose what was granted on it.
  IF monthly.text IS NOT NULL THEN
    CREATE OR REPLACE VIEW elo_v_tenant_monthly_usage AS
    SELECT tenant_id, date_trunc('month', created_at) AS month, model_id, agent_tier, count(*) AS request_count,
      sum(prompt_tokens) AS total_prompt_tokens, sum(completion_tokens) AS total_completion_tokens,
      sum(total_tokens) AS total_tokens, NULL::numeric AS total_cost_usd
    FROM elo_t_token_usage GROUP BY tenant_id, date_trunc('month', created_at), model_id, agent_tier;
  END IF;
  ALTER TABLE elo_t_token_usage ALTER COLUMN cost_usd TYPE DECIMAL(20, 8);
  IF monthly.text IS NOT NULL THEN
    EXECUTE 'CREATE OR REPLACE VIEW elo_v_tenant_monthly_usage AS ' || monthly.text;
    IF monthly.options <> '' THEN EXECUTE format('ALTER VIEW elo_v_tenant_monthly_usage SET (%s)', monthly.options); END IF;
  END IF;
EXCEPTION WHEN feature_not_supported OR invalid_table_definition OR insufficient_privilege OR wrong_object_type THEN
  RAISE NOTICE 'elo_t_token_usage.cost_usd was not widened: %', SQLERRM;
END $$;

-- A line's cost as its column can hold it. One that is too narrow holds its highest figure, all nines, and no bill is lost:
-- the exact one stands beside it.
CREATE OR REPLACE FUNCTION elo_agent_fitting_cost(p_exact NUMERIC) RETURNS NUMERIC LANGUAGE plpgsql STABLE AS $$
DECLARE
  precise INT;
  places INT;
BEGIN
  IF p_exact < 1 THEN RETURN round(p_exact, 8); END IF;
  SELECT (attribute.atttypmod - 4) >> 16, (attribute.atttypmod - 4) & 2047 INTO precise, places
  FROM pg_attribute AS attribute
  WHERE attribute.attrelid = 'elo_t_token_usage'::regclass AND attribute.attname = 'cost_usd'
    AND attribute.atttypid = 'numeric'::regtype AND attribute.atttypmod > 0;
  IF NOT FOUND THEN RETURN round(p_exact, 8); END IF;
  RETURN least(round(p_exact, 8), (repeat('9', precise - places) || '.' || repeat('9', places))::numeric);
END $$;

-- What a line counts: what it shows, which others may have corrected, but for one that was too dear for its column.
CREATE OR REPLACE FUNCTION elo_agent_line_cost(p_shown NUMERIC, p_exact NUMERIC) RETURNS NUMERIC LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN p_exact > p_shown AND p_shown::text ~ '^9+([.]9+)?$' THEN round(p_exact, 8)
    ELSE coalesce(nullif(p_shown, 'NaN'), 0)
  END
$$;

CREATE OR REPLACE FUNCTION elo_agent_count_usage() RETURNS TRIGGER LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
  this_month DATE := date_trunc('month', now() AT TIME ZONE 'UTC')::date;
  old_month DATE;
  new_month DATE;
  old_cost NUMERIC := 0;
  new_cost NUMERIC := 0;
  old_tokens BIGINT := 0;
  new_tokens BIGINT := 0;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    DELETE FROM elo_agent_monthly_usage;
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    old_month := date_trunc('month', coalesce(OLD.created_at, now()) AT TIME ZONE 'UTC')::date;
    old_cost := elo_agent_line_cost(OLD.cost_usd::numeric, OLD.cost_exact);
    old_tokens := coalesce(OLD.total_tokens, 0);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    new_month := date_trunc('month', coalesce(NEW.created_at, now()) AT TIME ZONE 'UTC')::date;
    new_cost := elo_agent_line_cost(NEW.cost_usd::numeric, NEW.cost_exact);
    new_tokens := coalesce(NEW.total_tokens, 0);
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.tenant_id = OLD.tenant_id AND new_month = old_month THEN
    IF NEW.run_id IS NOT NULL AND new_cost >= old_cost AND new_tokens >= old_tokens THEN new_month := this_month; END IF;
    PERFORM elo_agent_add_usage(NEW.tenant_id, new_month, new_cost - old_cost, new_tokens - old_tokens);
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN PERFORM elo_agent_add_usage(OLD.tenant_id, old_month, -old_cost, -old_tokens); END IF;
  IF TG_OP <> 'DELETE' THEN PERFORM elo_agent_add_usage(NEW.tenant_id, new_month, new_cost, new_tokens); END IF;
  RETURN NULL;
END $$;

-- As in 0007: replaced, a function has lost its search path. It runs with its owner's rights, so pg_temp is named last.
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION elo_agent_count_usage() SET search_path = %s', concat_ws(', ', (
    SELECT string_agg(quote_ident(one.name), ', ' ORDER BY one.place)
    FROM unnest(current_schemas(false)) WITH ORDINALITY AS one (name, place)
    WHERE one.name NOT LIKE 'pg\_temp%'
  ), 'pg_temp'));
END $$;
