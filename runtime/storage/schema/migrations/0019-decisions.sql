-- What a person decided on the call that run `decided_run_id` waited with, who it was, and when. A build of before this migration
-- writes none of it. In the audit only who.
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS decided_run_id UUID;
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS decision TEXT;
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS decided_by TEXT;
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS decided_at TIMESTAMPTZ;
ALTER TABLE elo_tool_executions ADD COLUMN IF NOT EXISTS decided_by TEXT;
