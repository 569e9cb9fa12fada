-- Conversations: what was said to an agent under a session id, kept as it was. The window that a run sees is made from it.
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($table$
    CREATE TABLE IF NOT EXISTS elo_agent_sessions (
      id BIGSERIAL PRIMARY KEY,
      tenant_id UUID NOT NULL REFERENCES %I (id) ON DELETE CASCADE,
      -- Empty for runs without an agent.
      agent TEXT NOT NULL DEFAULT '',
      session_id TEXT NOT NULL,
      -- Runs in the order in which they came: the first that is at work has the session.
      queue UUID[] NOT NULL DEFAULT '{}',
      -- Since it began, also those that are forgotten.
      turns INT NOT NULL DEFAULT 0,
      messages INT NOT NULL DEFAULT 0,
      tokens BIGINT NOT NULL DEFAULT 0,
      cost_usd NUMERIC NOT NULL DEFAULT 0,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      UNIQUE (tenant_id, agent, session_id)
    )
  $table$, tenants);
END $$;
CREATE INDEX IF NOT EXISTS elo_agent_sessions_updated ON elo_agent_sessions (tenant_id, updated_at);

-- Never changed. A turn is the question, the steps with tools and the answer of one run.
CREATE TABLE IF NOT EXISTS elo_agent_session_messages (
  session BIGINT NOT NULL REFERENCES elo_agent_sessions (id) ON DELETE CASCADE,
  -- The place in the session, beginning with 1.
  no INT NOT NULL,
  tenant_id UUID NOT NULL,
  -- Of a summary: the last turn that it stands for.
  turn INT NOT NULL,
  -- 'message' or 'summary'.
  kind TEXT NOT NULL DEFAULT 'message',
  task_id TEXT NOT NULL,
  run_id UUID NOT NULL,
  role TEXT NOT NULL,
  -- Text, or a list of parts.
  content JSONB,
  tool_calls JSONB,
  tool_call_id TEXT,
  -- What it takes of a window.
  tokens INT NOT NULL,
  -- What its run has used and cost, at the answer of a turn.
  run_tokens BIGINT,
  cost_usd NUMERIC,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  PRIMARY KEY (session, no)
);
CREATE INDEX IF NOT EXISTS elo_agent_session_messages_created ON elo_agent_session_messages (tenant_id, created_at);

-- Puts a run in the queue of a session. True if no run before it is at work: it then has the session until it ends or waits
-- for a person, or is not heard of for as long as its lease.
CREATE OR REPLACE FUNCTION elo_agent_hold_session(p_tenant UUID, p_agent TEXT, p_session TEXT, p_run UUID) RETURNS BOOLEAN
LANGUAGE plpgsql AS $$
DECLARE
  waiting UUID[];
BEGIN
  SELECT session.queue INTO waiting FROM elo_agent_sessions AS session
  WHERE session.tenant_id = p_tenant AND session.agent = p_agent AND session.session_id = p_session;
  IF waiting IS NULL OR p_run <> ALL (waiting) THEN
    INSERT INTO elo_agent_sessions (tenant_id, agent, session_id) VALUES (p_tenant, p_agent, p_session)
    ON CONFLICT (tenant_id, agent, session_id) DO NOTHING;
    -- A statement that waits for the row sees the runs of before its wait, and the next one those of now.
    PERFORM FROM elo_agent_sessions AS session
    WHERE session.tenant_id = p_tenant AND session.agent = p_agent AND session.session_id = p_session FOR UPDATE;
    UPDATE elo_agent_sessions AS session SET queue = ARRAY(
      SELECT before.run_id FROM unnest(session.queue) WITH ORDINALITY AS before (run_id, place)
      JOIN elo_agent_runs AS run ON run.tenant_id = p_tenant AND run.run_id = before.run_id
      WHERE run.state = 'running' AND run.lease_until > clock_timestamp() AND run.run_id <> p_run ORDER BY before.place
    ) || p_run
    WHERE session.tenant_id = p_tenant AND session.agent = p_agent AND session.session_id = p_session
    RETURNING session.queue INTO waiting;
  END IF;
  -- Without a row it was deleted in this very moment: whoever asks again makes another one.
  RETURN waiting IS NOT NULL AND NOT EXISTS (
    SELECT FROM unnest(waiting) WITH ORDINALITY AS before (run_id, place)
    JOIN elo_agent_runs AS run ON run.tenant_id = p_tenant AND run.run_id = before.run_id
    WHERE before.place < array_position(waiting, p_run) AND run.state = 'running' AND run.lease_until > clock_timestamp()
  );
END $$;

-- Adds the turn of a run, once however often it is written: {"agent", "sessionId", "tokens", "costUsd", "messages": [{"message",
-- "tokens"}]}.
CREATE OR REPLACE FUNCTION elo_agent_add_turn(p_tenant UUID, p_task TEXT, p_run UUID, p_turn JSONB) RETURNS BOOLEAN
LANGUAGE plpgsql AS $$
DECLARE
  kept RECORD;
  added INT := jsonb_array_length(p_turn -> 'messages');
BEGIN
  -- Holds the row until the end of the transaction, so that turns have their numbers in one order.
  INSERT INTO elo_agent_sessions AS session (tenant_id, agent, session_id)
  VALUES (p_tenant, p_turn ->> 'agent', p_turn ->> 'sessionId')
  ON CONFLICT (tenant_id, agent, session_id) DO UPDATE SET updated_at = now()
  RETURNING session.id, session.turns, session.messages INTO kept;
  IF EXISTS (
    SELECT FROM elo_agent_session_messages AS known
    WHERE known.session = kept.id AND known.run_id = p_run AND known.kind = 'message'
  ) THEN RETURN false; END IF;
  INSERT INTO elo_agent_session_messages
    (session, no, tenant_id, turn, task_id, run_id, role, content, tool_calls, tool_call_id, tokens, run_tokens, cost_usd)
  SELECT kept.id, kept.messages + one.place, p_tenant, kept.turns + 1, p_task, p_run,
    one.entry #>> '{message,role}', nullif(one.entry #> '{message,content}', 'null'), one.entry #> '{message,tool_calls}',
    one.entry #>> '{message,tool_call_id}', (one.entry ->> 'tokens')::int,
    CASE WHEN one.place = added THEN (p_turn ->> 'tokens')::bigint END,
    CASE WHEN one.place = added THEN (p_turn ->> 'costUsd')::numeric END
  FROM jsonb_array_elements(p_turn -> 'messages') WITH ORDINALITY AS one (entry, place);
  UPDATE elo_agent_sessions SET turns = turns + 1, messages = messages + added,
    tokens = tokens + (p_turn ->> 'tokens')::bigint, cost_usd = cost_usd + (p_turn ->> 'costUsd')::numeric
  WHERE id = kept.id;
  RETURN true;
END $$;

-- They take a tenant's id on trust: who may reserve room for a run may execute them, and nobody else.
DO $$
DECLARE
  grantee RECORD;
BEGIN
  REVOKE EXECUTE ON FUNCTION elo_agent_hold_session(UUID, TEXT, TEXT, UUID) FROM PUBLIC;
  REVOKE EXECUTE ON FUNCTION elo_agent_add_turn(UUID, TEXT, UUID, JSONB) FROM PUBLIC;
  FOR grantee IN
    SELECT DISTINCT CASE acl.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(acl.grantee)) END AS name
    FROM pg_proc AS proc, aclexplode(proc.proacl) AS acl
    WHERE proc.oid = 'elo_agent_reserve(uuid, uuid[], numeric, numeric, numeric, numeric)'::regprocedure
      AND acl.privilege_type = 'EXECUTE'
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION elo_agent_hold_session(UUID, TEXT, TEXT, UUID) TO %s', grantee.name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION elo_agent_add_turn(UUID, TEXT, UUID, JSONB) TO %s', grantee.name);
  END LOOP;
END $$;

-- Walled as in 0104.
DO $$
DECLARE
  walled TEXT;
BEGIN
  FOREACH walled IN ARRAY ARRAY['elo_agent_sessions', 'elo_agent_session_messages'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled);
    EXECUTE format('DROP POLICY IF EXISTS elo_agent_tenant ON %I', walled);
    EXECUTE format($policy$
      CREATE POLICY elo_agent_tenant ON %I FOR ALL
      USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
      WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
    $policy$, walled);
  END LOOP;
END $$;
