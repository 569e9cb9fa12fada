-- Who a run was for, as the meta of its task said it. The user of runs and tool calls is there already.
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS client_id TEXT;
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS dialog_id TEXT;
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS session_id TEXT;
ALTER TABLE elo_tool_executions ADD COLUMN IF NOT EXISTS client_id TEXT;
ALTER TABLE elo_tool_executions ADD COLUMN IF NOT EXISTS dialog_id TEXT;
ALTER TABLE elo_tool_executions ADD COLUMN IF NOT EXISTS session_id TEXT;
-- Runs are forgotten, their lines are not. The bill may be another program's table, with columns of the plain names.
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_client_id TEXT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_dialog_id TEXT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_user_id TEXT;
ALTER TABLE elo_t_token_usage ADD COLUMN IF NOT EXISTS run_session_id TEXT;
