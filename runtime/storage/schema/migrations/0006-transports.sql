-- How a tool of the transports rest, workflow and builtin is called. A tenant's custom_config.transport_config is laid over it.
ALTER TABLE elo_agent_tools ADD COLUMN IF NOT EXISTS transport_config JSONB;
