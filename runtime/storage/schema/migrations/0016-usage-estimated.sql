-- True where usage was estimated, in whole or in part, since the provider reported none; NULL in rows of before.
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS usage_estimated BOOLEAN;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS usage_estimated BOOLEAN;
