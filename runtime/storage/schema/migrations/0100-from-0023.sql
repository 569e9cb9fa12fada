-- Brings the schema of 0023-skills to that of 0101 to 0104.

-- A run that works for another one has a task of its own: which task is the root, and which call of which run it answers.
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS root_task_id VARCHAR(200);
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS parent_run_id UUID;
ALTER TABLE elo_agent_runs ADD COLUMN IF NOT EXISTS parent_call_id TEXT;
CREATE INDEX IF NOT EXISTS elo_agent_runs_root ON elo_agent_runs (tenant_id, root_task_id) WHERE root_task_id IS NOT NULL;

-- call_no counts the model calls of a run, whatever they are for. step NULL: as call_no, in rows of before.
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS step INT;
ALTER TABLE elo_agent_model_calls ADD COLUMN IF NOT EXISTS purpose VARCHAR(20) NOT NULL DEFAULT 'step';

-- As in 0104. The one of before, for a single run, stays for processes of the version before.
CREATE OR REPLACE FUNCTION elo_agent_reserve(
  p_tenant UUID, p_runs UUID[], p_cost_limit NUMERIC, p_token_limit NUMERIC, p_adding_cost NUMERIC, p_adding_tokens NUMERIC
) RETURNS TEXT LANGUAGE plpgsql AS $$
DECLARE
  spent_cost NUMERIC;
  spent_tokens NUMERIC;
  held_cost NUMERIC;
  held_tokens NUMERIC;
BEGIN
  IF p_cost_limit IS NULL AND p_token_limit IS NULL THEN RETURN 'ok'; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('universal-ai-agent budget ' || p_tenant, 0));
  SELECT spent.cost + unbilled.cost + p_adding_cost, spent.tokens + unbilled.tokens + p_adding_tokens, held.cost, held.tokens
  INTO spent_cost, spent_tokens, held_cost, held_tokens
  FROM (
    SELECT coalesce(sum(cost_usd), 0) AS cost, coalesce(sum(tokens), 0) AS tokens FROM elo_agent_monthly_usage
    WHERE tenant_id = p_tenant AND month = date_trunc('month', now() AT TIME ZONE 'UTC')::date
  ) AS spent, elo_agent_unbilled(p_tenant) AS unbilled, (
    SELECT coalesce(sum(run.held_cost_usd), 0) AS cost, coalesce(sum(run.held_tokens), 0) AS tokens FROM elo_agent_runs AS run
    WHERE run.tenant_id = p_tenant AND run.run_id <> ALL (p_runs) AND run.state = 'running' AND run.lease_until > now()
  ) AS held;
  IF spent_cost >= p_cost_limit OR spent_tokens >= p_token_limit THEN RETURN 'exceeded'; END IF;
  IF spent_cost + held_cost >= p_cost_limit OR spent_tokens + held_tokens >= p_token_limit THEN RETURN 'held'; END IF;
  RETURN 'ok';
END $$;

-- It takes a tenant's id on trust, so it is not everybody's: who may execute the function of before may execute this one.
DO $$
DECLARE
  grantee RECORD;
BEGIN
  REVOKE EXECUTE ON FUNCTION elo_agent_reserve(UUID, UUID[], NUMERIC, NUMERIC, NUMERIC, NUMERIC) FROM PUBLIC;
  FOR grantee IN
    SELECT DISTINCT CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(acl.grantee)) END AS name
    FROM pg_proc AS proc, aclexplode(proc.proacl) AS acl
    WHERE proc.oid = 'elo_agent_reserve(uuid, uuid, numeric, numeric, numeric, numeric)'::regprocedure
      AND acl.privilege_type = 'EXECUTE'
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION elo_agent_reserve(UUID, UUID[], NUMERIC, NUMERIC, NUMERIC, NUMERIC) TO %s', grantee.name);
  END LOOP;
END $$;
