-- MCP: servers are registered once, tenants use them with a credential of their own, and what they offer is remembered.

CREATE TABLE IF NOT EXISTS elo_agent_mcp_servers (
  id SERIAL PRIMARY KEY,
  -- Stands before the names of its tools.
  code VARCHAR(50) UNIQUE NOT NULL,
  -- For the transport stdio: the command line, as a JSON array of its words.
  url VARCHAR(2000) NOT NULL,
  transport VARCHAR(20) NOT NULL DEFAULT 'http',
  -- The credential of tenants that have none of their own.
  auth JSONB NOT NULL DEFAULT '{"kind": "none"}',
  include_tools TEXT[],
  exclude_tools TEXT[] NOT NULL DEFAULT '{}',
  -- What a changed or new tool gets: 'accept', or 'quarantine' until it is approved.
  on_tool_change VARCHAR(20) NOT NULL DEFAULT 'accept' CHECK (on_tool_change IN ('accept', 'quarantine')),
  allowed_tiers TEXT[],
  settings JSONB NOT NULL DEFAULT '{}',
  is_active BOOLEAN NOT NULL DEFAULT true,
  sort_order INT NOT NULL DEFAULT 0,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($table$
    CREATE TABLE IF NOT EXISTS elo_t_tenant_mcp_servers (
      tenant_id UUID NOT NULL REFERENCES %I (id) ON DELETE CASCADE,
      server_id INT NOT NULL REFERENCES elo_agent_mcp_servers (id) ON DELETE CASCADE,
      is_enabled BOOLEAN NOT NULL DEFAULT true,
      auth JSONB,
      -- The OAuth tokens, encrypted for this tenant and server.
      oauth_state TEXT,
      listed_at TIMESTAMPTZ,
      list_expires_at TIMESTAMPTZ,
      -- How often the connections to the tenant's server were reset. Every process makes new ones when it has grown, and asks for
      -- the list of tools again.
      resets INT NOT NULL DEFAULT 0,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      PRIMARY KEY (tenant_id, server_id)
    )
  $table$, tenants);
END $$;

CREATE TABLE IF NOT EXISTS elo_t_tenant_mcp_tools (
  tenant_id UUID NOT NULL,
  server_id INT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  -- JSON, not JSONB: the schema goes to the model as the server wrote it.
  input_schema JSON NOT NULL,
  is_repeatable BOOLEAN NOT NULL,
  -- What the server says of the tool: that it only reads. False until the list is asked for again.
  is_read_only BOOLEAN NOT NULL DEFAULT false,
  hash CHAR(64) NOT NULL,
  approved_hash CHAR(64),
  -- Its place in the server's list; NULL when the server no longer has it. The approval outlives that.
  position INT,
  updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, server_id, name),
  FOREIGN KEY (tenant_id, server_id) REFERENCES elo_t_tenant_mcp_servers (tenant_id, server_id) ON DELETE CASCADE
);

-- The vault: secrets of tenants, encrypted. What is named "vault:NAME" elsewhere is found here.
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($table$
    CREATE TABLE IF NOT EXISTS elo_agent_secrets (
      id BIGSERIAL PRIMARY KEY,
      -- NULL: for every tenant that has none of its own under this name.
      tenant_id UUID REFERENCES %I (id) ON DELETE CASCADE,
      name VARCHAR(100) NOT NULL,
      -- v1.KEY-ID.IV.BODY, AES-256-GCM; the tenant and the name are authenticated with it.
      sealed TEXT NOT NULL,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
    )
  $table$, tenants);
END $$;
CREATE UNIQUE INDEX IF NOT EXISTS elo_agent_secrets_name
  ON elo_agent_secrets (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), name);

-- The tenant's channel accounts as {channel: {key: value}}, where an installation has them. What is named
-- "channel:telegram.token" elsewhere is found here. Of several accounts of a channel the oldest active one counts.
CREATE OR REPLACE FUNCTION elo_agent_channel_credentials(p_tenant UUID) RETURNS JSONB LANGUAGE plpgsql STABLE AS $$
DECLARE
  found JSONB;
BEGIN
  IF to_regclass('elo_t_channel_accounts') IS NULL OR to_regclass('elo_channels') IS NULL THEN RETURN '{}'; END IF;
  EXECUTE $query$
    SELECT coalesce(jsonb_object_agg(one.code, one.keys), '{}')
    FROM (
      SELECT DISTINCT ON (channel.code) channel.code,
        jsonb_build_object('account_id', account.data ->> 'account_id') || coalesce(
          CASE jsonb_typeof(account.data -> 'credentials') WHEN 'object' THEN account.data -> 'credentials' END, '{}') AS keys
      FROM (SELECT to_jsonb(raw) AS data FROM elo_t_channel_accounts AS raw WHERE raw.tenant_id = $1) AS account
      JOIN elo_channels AS channel ON channel.id::text = account.data ->> 'channel_id'
      WHERE coalesce((account.data ->> 'is_active')::boolean, true)
      ORDER BY channel.code, account.data ->> 'created_at', account.data ->> 'id'
    ) AS one
  $query$ INTO found USING p_tenant;
  RETURN found;
END $$;

-- Agents: what a run is asked to be, picked by name. A tenant's own row wins over that for all tenants (tenant_id NULL).
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($table$
    CREATE TABLE IF NOT EXISTS elo_agents (
      id BIGSERIAL PRIMARY KEY,
      -- NULL: for every tenant that has none of its own under this name.
      tenant_id UUID REFERENCES %I (id) ON DELETE CASCADE,
      name VARCHAR(50) NOT NULL,
      description TEXT,
      system_prompt TEXT,
      -- A tier or a model, not both.
      tier VARCHAR(20),
      model VARCHAR(100),
      -- [{"when": {"context.plan": "pro"}, "tier": "expert"}]: the first whose values all are equal.
      model_rules JSONB,
      temperature NUMERIC(3,2),
      max_iterations INT,
      -- NULL: all tools of the tenant; empty: none.
      tools TEXT[],
      tool_permissions JSONB,
      skills TEXT[],
      output_schema JSONB,
      limits JSONB,
      sub_agents TEXT[],
      fallback_models TEXT[],
      knowledge JSONB,
      version INT NOT NULL DEFAULT 1,
      is_active BOOLEAN NOT NULL DEFAULT true,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
    )
  $table$, tenants);
END $$;
CREATE UNIQUE INDEX IF NOT EXISTS elo_agents_name
  ON elo_agents (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), name);
CREATE INDEX IF NOT EXISTS elo_agents_tenant ON elo_agents (tenant_id, name);

CREATE OR REPLACE FUNCTION elo_agents_versioned() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW IS NOT DISTINCT FROM OLD THEN RETURN NEW; END IF;
  NEW.version := CASE WHEN TG_OP = 'UPDATE' THEN OLD.version + 1 ELSE 1 END;
  NEW.updated_at := clock_timestamp();
  RETURN NEW;
END $$;
DROP TRIGGER IF EXISTS elo_agents_versioned ON elo_agents;
CREATE TRIGGER elo_agents_versioned BEFORE INSERT OR UPDATE ON elo_agents
  FOR EACH ROW EXECUTE FUNCTION elo_agents_versioned();

-- Skills: instructions in the format of agentskills.io, read by a model that asks for them. A tenant's own row wins over that for
-- all tenants (tenant_id NULL).
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($table$
    CREATE TABLE IF NOT EXISTS elo_agent_skills (
      id BIGSERIAL PRIMARY KEY,
      -- NULL: for every tenant that has none of its own under this name.
      tenant_id UUID REFERENCES %I (id) ON DELETE CASCADE,
      name VARCHAR(64) NOT NULL,
      description TEXT NOT NULL,
      -- SKILL.md, byte for byte.
      content TEXT NOT NULL,
      -- The other files of its folder by path: {"references/FORMS.md": {"text": "..."}, "assets/logo.png": {"base64": "..."}}.
      files JSONB NOT NULL DEFAULT '{}',
      version INT NOT NULL DEFAULT 1,
      is_active BOOLEAN NOT NULL DEFAULT true,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
    )
  $table$, tenants);
END $$;
CREATE UNIQUE INDEX IF NOT EXISTS elo_agent_skills_name
  ON elo_agent_skills (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), name);
CREATE INDEX IF NOT EXISTS elo_agent_skills_tenant ON elo_agent_skills (tenant_id, name);

DROP TRIGGER IF EXISTS elo_agent_skills_versioned ON elo_agent_skills;
CREATE TRIGGER elo_agent_skills_versioned BEFORE INSERT OR UPDATE ON elo_agent_skills
  FOR EACH ROW EXECUTE FUNCTION elo_agents_versioned();
