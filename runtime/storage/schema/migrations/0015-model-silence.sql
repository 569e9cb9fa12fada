-- Limit, in seconds, of the time without a byte of a model's reply. NULL: the default.
ALTER TABLE elo_agent_tiers ADD COLUMN IF NOT EXISTS model_silence_seconds NUMERIC;
