-- NULL: the tokens at our price. 'provider': the provider's own figure, in whole or in part, since its tokens could not be relied upon.
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS cost_basis TEXT;
