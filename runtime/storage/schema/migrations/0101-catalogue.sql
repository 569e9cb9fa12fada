-- Creates what is missing and leaves what is there. Both the documents' schema and the real installation's are adopted.

-- Tenants: the real installation's table. The documents refer to elo_tenants instead; where that one exists, it is used.
DO $$
BEGIN
  IF to_regclass('elo_t_tenants') IS NULL AND to_regclass('elo_tenants') IS NULL THEN
    CREATE TABLE elo_t_tenants (
      id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
      name VARCHAR(255) NOT NULL,
      slug VARCHAR(100) UNIQUE,
      settings JSONB NOT NULL DEFAULT '{}',
      plan VARCHAR(50),
      is_active BOOLEAN NOT NULL DEFAULT true,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
    );
  END IF;
END $$;

-- One name for either table. Through to_jsonb, columns that an old table lacks read as their defaults.
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($view$
    CREATE OR REPLACE VIEW elo_v_agent_tenants AS
    SELECT tenant.id,
      coalesce(to_jsonb(tenant) ->> 'name', tenant.id::text) AS name,
      coalesce((to_jsonb(tenant) ->> 'is_active')::boolean, true) AS is_active,
      to_jsonb(tenant) -> 'settings' AS settings
    FROM %I AS tenant
  $view$, tenants);
END $$;

CREATE TABLE IF NOT EXISTS elo_agent_tools (
  id SERIAL PRIMARY KEY,
  code VARCHAR(50) UNIQUE NOT NULL,
  name VARCHAR(100) NOT NULL,
  description TEXT,
  parameters_schema JSONB,
  mcp_endpoint VARCHAR(500),
  auth_header VARCHAR(500),
  timeout_ms INT DEFAULT 30000,
  is_active BOOLEAN DEFAULT true,
  sort_order INT DEFAULT 0
);
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS transport VARCHAR(20) NOT NULL DEFAULT 'hook';
-- How a tool of the transports rest, workflow and builtin is called. A tenant's custom_config.transport_config is laid over it.
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS transport_config JSONB;
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS mcp_tool VARCHAR(200);
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS allowed_tiers TEXT[];
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS auth_header VARCHAR(500);
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS timeout_ms INT DEFAULT 30000;
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS is_active BOOLEAN DEFAULT true;
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS sort_order INT DEFAULT 0;

DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  IF to_regclass('elo_t_tenant_tools') IS NULL THEN
    EXECUTE format($table$
      CREATE TABLE elo_t_tenant_tools (
        id SERIAL PRIMARY KEY,
        tenant_id UUID NOT NULL REFERENCES %I (id) ON DELETE CASCADE,
        tool_id INT NOT NULL REFERENCES elo_agent_tools (id) ON DELETE CASCADE,
        is_enabled BOOLEAN DEFAULT true,
        custom_config JSONB,
        created_at TIMESTAMPTZ DEFAULT now(),
        UNIQUE (tenant_id, tool_id)
      )
    $table$, tenants);
  END IF;
END $$;
ALTER TABLE elo_t_tenant_tools ADD COLUMN IF NOT EXISTS is_enabled BOOLEAN DEFAULT true;
ALTER TABLE elo_t_tenant_tools ADD COLUMN IF NOT EXISTS custom_config JSONB;
ALTER TABLE elo_t_tenant_tools ADD COLUMN IF NOT EXISTS usage_limit_daily INT;
ALTER TABLE elo_t_tenant_tools ADD COLUMN IF NOT EXISTS usage_count_today INT DEFAULT 0;
ALTER TABLE elo_t_tenant_tools ADD COLUMN IF NOT EXISTS last_reset_date DATE DEFAULT CURRENT_DATE;

-- Tiers are data. The rows are written only into a table that we made; an adopted table keeps its own.
DO $$
BEGIN
  IF to_regclass('elo_agent_tiers') IS NULL THEN
    CREATE TABLE elo_agent_tiers (
      code VARCHAR(20) PRIMARY KEY,
      name VARCHAR(100) NOT NULL,
      model_id VARCHAR(100) NOT NULL,
      max_tokens INT,
      temperature NUMERIC(3, 2),
      is_free BOOLEAN NOT NULL DEFAULT false
    );
    INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, temperature, is_free) VALUES
      ('nano', 'Nano', 'qwen/qwen3-4b:free', 500, 0.1, true),
      ('small', 'Small', 'qwen/qwen3-8b', 800, 0.2, false),
      ('optima', 'Optima', 'anthropic/claude-3-haiku', 1000, 0.3, false),
      ('pro', 'Pro', 'openai/gpt-4o-mini', 2000, 0.5, false),
      ('expert', 'Expert', 'anthropic/claude-3-5-sonnet', 4000, 0.7, false);
  END IF;
END $$;
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS name VARCHAR(100);
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS max_tokens INT;
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS temperature NUMERIC(3, 2);
-- Rules of a tier for every tenant, in the shape of tool_config.
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS tool_config JSONB;
-- Limit, in seconds, of the time without a byte of a model's reply. NULL: the default.
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS model_silence_seconds NUMERIC;
-- The order of the tiers, for a tenant's max_tier. A tier without a rank is above every limit.
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS rank INT;
UPDATE elo_agent_tiers AS tier SET rank = known.rank
FROM (VALUES ('nano', 1), ('small', 2), ('optima', 3), ('pro', 4), ('expert', 5)) AS known (code, rank)
WHERE tier.code = known.code AND tier.rank IS NULL;

DO $$
BEGIN
  IF to_regclass('elo_model_pricing') IS NULL THEN
    CREATE TABLE elo_model_pricing (
      model_id VARCHAR(100) PRIMARY KEY,
      provider VARCHAR(50),
      input_cost_per_1m NUMERIC NOT NULL,
      output_cost_per_1m NUMERIC NOT NULL
    );
    INSERT INTO elo_model_pricing (model_id, provider, input_cost_per_1m, output_cost_per_1m) VALUES
      ('qwen/qwen3-4b:free', 'openrouter', 0, 0),
      ('qwen/qwen3-8b', 'openrouter', 0.07, 0.07),
      ('anthropic/claude-3-haiku', 'openrouter', 0.25, 1.25),
      ('openai/gpt-4o-mini', 'openrouter', 0.15, 0.60),
      ('anthropic/claude-3-5-sonnet', 'openrouter', 3, 15);
  END IF;
END $$;

-- NULL: as input, as input, as cache_write_cost_per_1m, as output. A table of another owner, who has added them, stays as it is.
DO $$
BEGIN
ALTER TABLE elo_model_pricing ADD COLUMN IF NOT EXISTS cached_input_cost_per_1m NUMERIC;
ALTER TABLE elo_model_pricing ADD COLUMN IF NOT EXISTS cache_write_cost_per_1m NUMERIC;
ALTER TABLE elo_model_pricing ADD COLUMN IF NOT EXISTS cache_write_1h_cost_per_1m NUMERIC;
ALTER TABLE elo_model_pricing ADD COLUMN IF NOT EXISTS reasoning_cost_per_1m NUMERIC;
EXCEPTION WHEN insufficient_privilege THEN NULL;
END $$;

-- A table that had no is_free got it a moment ago, with its default; the documents' free tier is free there too.
UPDATE elo_agent_tiers SET is_free = true
WHERE code = 'nano' AND EXISTS (
  SELECT FROM pg_attribute AS attribute
  WHERE attribute.attrelid = 'elo_agent_tiers'::regclass AND attribute.attname = 'is_free'
    AND attribute.xmin::text = (txid_current() & 4294967295)::text
);
