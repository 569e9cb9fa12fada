-- The agent that the task of a run names.
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS agent TEXT;
