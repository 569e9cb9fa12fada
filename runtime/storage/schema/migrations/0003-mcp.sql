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
  hash CHAR(64) NOT NULL,
  approved_hash CHAR(64),
  -- Its place in the server's list; NULL when the server no longer has it. The approval outlives that.
  position INT,
  updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, server_id, name),
  FOREIGN KEY (tenant_id, server_id) REFERENCES elo_t_tenant_mcp_servers (tenant_id, server_id) ON DELETE CASCADE
);
