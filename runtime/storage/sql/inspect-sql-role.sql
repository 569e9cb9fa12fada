-- Why the connected role can see more than one tenant's rows; none when it cannot.
WITH RECURSIVE me AS (
  SELECT oid, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user
), readable AS (
  SELECT class.oid, class.oid::regclass::text AS name, class.relowner, class.relkind, class.relrowsecurity,
    EXISTS (
      SELECT FROM pg_attribute AS field
      WHERE field.attrelid = class.oid AND field.attname = 'tenant_id' AND NOT field.attisdropped
    ) AS has_tenant,
    coalesce((
      SELECT option.option_value::boolean FROM pg_options_to_table(class.reloptions) AS option
      WHERE option.option_name = 'security_invoker'
    ), false) AS is_invoker
  FROM pg_class AS class JOIN pg_namespace AS space ON space.oid = class.relnamespace
  WHERE class.relkind IN ('r', 'p', 'v', 'm', 'f') AND space.nspname !~ '^pg_' AND space.nspname <> 'information_schema'
    AND has_schema_privilege(space.oid, 'USAGE') AND has_any_column_privilege(class.oid, 'SELECT')
), uses AS (
  SELECT readable.oid AS view, readable.oid AS relation FROM readable WHERE relkind IN ('v', 'm')
  UNION
  SELECT uses.view, needed.refobjid
  FROM uses
  JOIN pg_rewrite AS rule ON rule.ev_class = uses.relation
  JOIN pg_depend AS needed ON needed.classid = 'pg_rewrite'::regclass AND needed.objid = rule.oid
    AND needed.refclassid = 'pg_class'::regclass
), reasons (place, reason) AS (
  SELECT 1, 'it is a superuser' FROM me WHERE rolsuper
  UNION ALL
  SELECT 2, 'it has BYPASSRLS' FROM me WHERE rolbypassrls
  UNION ALL
  SELECT 3, format('it is a member of %I', other.rolname)
  FROM me JOIN pg_roles AS other ON other.oid <> me.oid AND pg_has_role(me.oid, other.oid, 'MEMBER')
  WHERE other.rolsuper OR other.rolbypassrls OR other.rolname ~ '^pg_' OR other.oid IN (SELECT relowner FROM readable)
  UNION ALL
  SELECT 4, format('it owns %s', readable.name) FROM readable JOIN me ON me.oid = readable.relowner
  UNION ALL
  SELECT 5, format('it can read %s, which has a tenant_id and no row-level security', name)
  FROM readable WHERE has_tenant AND NOT relrowsecurity AND relkind <> 'v'
  UNION ALL
  SELECT 6, format('it can read %s, which reads with the rights of its owner; set security_invoker', name)
  FROM readable
  WHERE relkind IN ('v', 'm') AND NOT is_invoker AND (
    has_tenant AND relkind = 'v'
    OR EXISTS (
      SELECT FROM uses JOIN pg_class AS base ON base.oid = uses.relation
      WHERE uses.view = readable.oid AND base.relrowsecurity
    )
  )
  UNION ALL
  -- Those that a query can call although its functions are checked: as a column, or under the name of a function of Postgres.
  SELECT 7, format('it may execute %s, which runs with the rights of its owner', proc.oid::regprocedure)
  FROM pg_proc AS proc
  JOIN pg_namespace AS space ON space.oid = proc.pronamespace
  WHERE proc.prosecdef AND proc.prokind = 'f' AND proc.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
    AND space.nspname !~ '^pg_' AND has_schema_privilege(space.oid, 'USAGE') AND has_function_privilege(proc.oid, 'EXECUTE')
    AND (
      EXISTS (
        SELECT FROM pg_proc AS known
        WHERE known.proname = proc.proname AND known.pronamespace = 'pg_catalog'::regnamespace
      )
      OR (
        proc.pronargs - proc.pronargdefaults <= 1
        AND EXISTS (SELECT FROM pg_type AS type WHERE type.oid = proc.proargtypes[0] AND type.typtype IN ('c', 'p'))
      )
    )
)
SELECT reason FROM reasons ORDER BY place, reason LIMIT 5
