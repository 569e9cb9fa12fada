-- Adopted tables whose ids their own program made: rows of ours come without one, so the table makes it.
DO $$
DECLARE
  tenants TEXT := CASE WHEN to_regclass('elo_t_tenants') IS NOT NULL THEN 'elo_t_tenants' ELSE 'elo_tenants' END;
  lacking RECORD;
BEGIN
  FOR lacking IN
    SELECT class.relname AS name, format_type(id.atttypid, NULL) AS type
    FROM unnest(ARRAY[tenants, 'elo_agent_tools', 'elo_t_tenant_tools', 'elo_t_token_usage', 'elo_agent_tiers', 'elo_model_pricing'])
      AS ours (name)
    JOIN pg_class AS class ON class.oid = to_regclass(ours.name) AND class.relkind IN ('r', 'p')
    JOIN pg_attribute AS id ON id.attrelid = class.oid AND id.attname = 'id' AND NOT id.attisdropped
    WHERE id.attnotnull AND NOT id.atthasdef AND id.attidentity = '' AND pg_has_role(class.relowner, 'USAGE')
  LOOP
    IF lacking.type = 'uuid' THEN
      EXECUTE format('ALTER TABLE %I ALTER COLUMN id SET DEFAULT gen_random_uuid()', lacking.name);
    ELSIF lacking.type IN ('text', 'character varying') THEN
      EXECUTE format('ALTER TABLE %I ALTER COLUMN id SET DEFAULT gen_random_uuid()::text', lacking.name);
    ELSIF lacking.type IN ('smallint', 'integer', 'bigint') THEN
      EXECUTE format('CREATE SEQUENCE %I OWNED BY %I.id', lacking.name || '_ids', lacking.name);
      EXECUTE format('SELECT setval(%L, coalesce(max(id), 0)::bigint + 1, false) FROM %I', lacking.name || '_ids', lacking.name);
      EXECUTE format('ALTER TABLE %I ALTER COLUMN id SET DEFAULT nextval(%L)', lacking.name, lacking.name || '_ids');
    END IF;
  END LOOP;
END $$;
