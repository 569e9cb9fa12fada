-- What a server says of its tool: that it only reads. False until the list is asked for again.
ALTER TABLE elo_t_tenant_mcp_tools ADD COLUMN IF NOT EXISTS is_read_only BOOLEAN NOT NULL DEFAULT false;
