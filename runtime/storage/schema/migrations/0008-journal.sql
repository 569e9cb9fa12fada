-- The step journal: what a run has done, for the run that goes on when it is lost or has failed.
CREATE TABLE IF NOT EXISTS elo_agent_journal (
  tenant_id UUID NOT NULL,
  task_id VARCHAR(200) NOT NULL,
  -- The number of the model call.
  step INT NOT NULL,
  -- Empty for what the model asked for, else the id of the tool call that ended.
  entry TEXT NOT NULL,
  run_id UUID NOT NULL,
  -- The places of the calls that may have been sent.
  sent INT[] NOT NULL DEFAULT '{}',
  -- JSON, sealed where there is a vault key. TEXT, since JSON is not looked into here and may hold \u0000.
  content TEXT NOT NULL,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, task_id, step, entry),
  FOREIGN KEY (tenant_id, task_id) REFERENCES elo_agent_runs (tenant_id, task_id) ON DELETE CASCADE
);

ALTER TABLE elo_agent_journal ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS elo_agent_tenant ON elo_agent_journal;
CREATE POLICY elo_agent_tenant ON elo_agent_journal FOR ALL
  USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);

-- A claim may have waited for the run before it, whose last entries a statement that began earlier would not see. A volatile
-- function does.
CREATE OR REPLACE FUNCTION elo_agent_read_journal(p_tenant UUID, p_task TEXT, OUT last_step INT, OUT entries JSON)
LANGUAGE plpgsql VOLATILE STRICT AS $$
BEGIN
  SELECT max(kept.step), json_agg(json_build_object(
    'step', kept.step, 'entry', kept.entry, 'sent', kept.sent, 'content', kept.content) ORDER BY kept.step, kept.entry)
  INTO last_step, entries
  FROM elo_agent_journal AS kept WHERE kept.tenant_id = p_tenant AND kept.task_id = p_task;
END $$;
REVOKE EXECUTE ON FUNCTION elo_agent_read_journal(UUID, TEXT) FROM PUBLIC;
