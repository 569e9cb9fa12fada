-- Skills: instructions in the format of agentskills.io, read by a model that asks for them. A tenant's own row wins over that for
-- all tenants (tenant_id NULL).
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($table$
    CREATE TABLE IF NOT EXISTS elo_agent_skills (
      id BIGSERIAL PRIMARY KEY,
      -- NULL: for every tenant that has none of its own under this name.
      tenant_id UUID REFERENCES %I (id) ON DELETE CASCADE,
      name VARCHAR(64) NOT NULL,
      description TEXT NOT NULL,
      -- SKILL.md, byte for byte.
      content TEXT NOT NULL,
      -- The other files of its folder by path: {"references/FORMS.md": {"text": "..."}, "assets/logo.png": {"base64": "..."}}.
      files JSONB NOT NULL DEFAULT '{}',
      version INT NOT NULL DEFAULT 1,
      is_active BOOLEAN NOT NULL DEFAULT true,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
    )
  $table$, tenants);
END $$;
CREATE UNIQUE INDEX IF NOT EXISTS elo_agent_skills_name
  ON elo_agent_skills (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), name);
CREATE INDEX IF NOT EXISTS elo_agent_skills_tenant ON elo_agent_skills (tenant_id, name);

DROP TRIGGER IF EXISTS elo_agent_skills_versioned ON elo_agent_skills;
CREATE TRIGGER elo_agent_skills_versioned BEFORE INSERT OR UPDATE ON elo_agent_skills
  FOR EACH ROW EXECUTE FUNCTION elo_agents_versioned();

ALTER TABLE elo_agent_skills ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS elo_agent_tenant ON elo_agent_skills;
CREATE POLICY elo_agent_tenant ON elo_agent_skills FOR ALL
  USING (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
