-- The vault: secrets of tenants, encrypted. What is named "vault:NAME" elsewhere is found here.
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
BEGIN
  EXECUTE format($table$
    CREATE TABLE IF NOT EXISTS elo_agent_secrets (
      id BIGSERIAL PRIMARY KEY,
      -- NULL: for every tenant that has none of its own under this name.
      tenant_id UUID REFERENCES %I (id) ON DELETE CASCADE,
      name VARCHAR(100) NOT NULL,
      -- v1.KEY-ID.IV.BODY, AES-256-GCM; the tenant and the name are authenticated with it.
      sealed TEXT NOT NULL,
      created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
      updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
    )
  $table$, tenants);
END $$;
CREATE UNIQUE INDEX IF NOT EXISTS elo_agent_secrets_name
  ON elo_agent_secrets (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid), name);

-- The tenant's channel accounts as {channel: {key: value}}, where an installation has them. What is named
-- "channel:telegram.token" elsewhere is found here. Of several accounts of a channel the oldest active one counts.
CREATE OR REPLACE FUNCTION elo_agent_channel_credentials(p_tenant UUID) RETURNS JSONB LANGUAGE plpgsql STABLE AS $$
DECLARE
  found JSONB;
BEGIN
  IF to_regclass('elo_t_channel_accounts') IS NULL OR to_regclass('elo_channels') IS NULL THEN RETURN '{}'; END IF;
  EXECUTE $query$
    SELECT coalesce(jsonb_object_agg(one.code, one.keys), '{}')
    FROM (
      SELECT DISTINCT ON (channel.code) channel.code,
        jsonb_build_object('account_id', account.data ->> 'account_id') || coalesce(
          CASE jsonb_typeof(account.data -> 'credentials') WHEN 'object' THEN account.data -> 'credentials' END, '{}') AS keys
      FROM (SELECT to_jsonb(raw) AS data FROM elo_t_channel_accounts AS raw WHERE raw.tenant_id = $1) AS account
      JOIN elo_channels AS channel ON channel.id::text = account.data ->> 'channel_id'
      WHERE coalesce((account.data ->> 'is_active')::boolean, true)
      ORDER BY channel.code, account.data ->> 'created_at', account.data ->> 'id'
    ) AS one
  $query$ INTO found USING p_tenant;
  RETURN found;
END $$;
