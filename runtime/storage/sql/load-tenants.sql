-- Everything a run needs, of several tenants in one round trip. JSON comes as text, so that unchanged text need not be parsed again.
-- Prices are those of the models that the run may use; when one of them has none, all prices come,
-- since the model that answers may be another one and have its own.
--
-- What stands behind "With an agent:" is left out of the statement for runs without an agent and without skills.
--
-- The parameters stand in selects of their own: Postgres then expects as many rows of any array, so it keeps one plan. By the
-- arrays' lengths it would plan anew each time, which takes twice as long as the query itself.
WITH wanted AS (
  SELECT array_agg(DISTINCT id) AS ids
  FROM (
    SELECT model_id::text AS id FROM elo_agent_tiers
    UNION ALL SELECT unnest((SELECT :modelIds::text[]))
    -- With an agent:
    UNION ALL SELECT unnest(ARRAY(SELECT agent.model::text UNION ALL SELECT rule ->> 'model' FROM jsonb_array_elements(
      CASE jsonb_typeof(agent.model_rules) WHEN 'array' THEN agent.model_rules ELSE '[]' END
    ) AS rule))
    FROM elo_agents AS agent
    WHERE agent.name = (SELECT :agent::text)
      AND (agent.tenant_id IS NULL OR agent.tenant_id = ANY ((SELECT :tenantIds::uuid[])::uuid[]))
    -- Always:
  ) AS models
  WHERE id IS NOT NULL
)
SELECT
  tenant.id::text AS id,
  tenant.is_active,
  tenant.settings::text AS settings,
  coalesce((
    SELECT json_agg(json_build_object(
      'code', tier.code, 'name', tier.name, 'model_id', tier.model_id,
      'max_tokens', tier.max_tokens, 'temperature', tier.temperature, 'rank', tier.rank,
      'model_silence_seconds', to_jsonb(tier) -> 'model_silence_seconds',
      'tool_config', tier.tool_config, 'is_free', tier.is_free
    ) ORDER BY tier.rank, tier.code)
    FROM elo_agent_tiers AS tier
  ), '[]')::text AS tiers,
  coalesce((
    SELECT json_agg(json_strip_nulls(json_build_object(
      'model_id', price.model_id,
      'input_cost_per_1m', price.input_cost_per_1m::text, 'output_cost_per_1m', price.output_cost_per_1m::text,
      'cached_input_cost_per_1m', price.cached_input_cost_per_1m::text,
      'cache_write_cost_per_1m', price.cache_write_cost_per_1m::text,
      'cache_write_1h_cost_per_1m', price.cache_write_1h_cost_per_1m::text,
      'reasoning_cost_per_1m', price.reasoning_cost_per_1m::text
    )) ORDER BY price.model_id)
    FROM elo_model_pricing AS price, wanted
    WHERE price.input_cost_per_1m IS NOT NULL AND price.output_cost_per_1m IS NOT NULL
      AND (price.model_id = ANY (wanted.ids) OR EXISTS (
        SELECT FROM unnest(wanted.ids) AS asked
        WHERE NOT EXISTS (SELECT FROM elo_model_pricing AS known WHERE known.model_id = asked)
      ))
  ), '[]')::text AS prices,
  coalesce((
    SELECT json_agg(json_build_object(
      'code', tool.code, 'name', tool.name, 'description', tool.description,
      'parameters_schema', tool.parameters_schema, 'mcp_endpoint', tool.mcp_endpoint,
      'auth_header', tool.auth_header, 'timeout_ms', tool.timeout_ms, 'transport', tool.transport,
      'mcp_tool', tool.mcp_tool, 'allowed_tiers', tool.allowed_tiers, 'custom_config', own.custom_config,
      'transport_config', tool.transport_config
    ) ORDER BY tool.sort_order, tool.id)
    FROM elo_t_tenant_tools AS own
    JOIN elo_agent_tools AS tool ON tool.id = own.tool_id
    WHERE own.tenant_id = tenant.id AND own.is_enabled AND tool.is_active
  ), '[]')::text AS tools,
  coalesce((
    SELECT json_agg(json_build_object(
      'id', server.id, 'code', server.code, 'url', server.url, 'transport', server.transport,
      'auth', coalesce(own.auth, server.auth), 'settings', server.settings, 'resets', own.resets,
      'include_tools', server.include_tools, 'exclude_tools', server.exclude_tools,
      'allowed_tiers', server.allowed_tiers,
      -- Not the time itself: the text changes only when the answer does.
      'is_list_fresh', coalesce(own.list_expires_at > now(), false)
    ) ORDER BY server.sort_order, server.id)
    FROM elo_t_tenant_mcp_servers AS own
    JOIN elo_agent_mcp_servers AS server ON server.id = own.server_id
    WHERE own.tenant_id = tenant.id AND own.is_enabled AND server.is_active
  ), '[]')::text AS servers,
  coalesce((
    SELECT json_agg(json_build_object(
      'server_id', tool.server_id, 'name', tool.name, 'description', tool.description,
      'input_schema', tool.input_schema, 'is_repeatable', tool.is_repeatable, 'is_read_only', tool.is_read_only,
      'is_quarantined', tool.approved_hash IS DISTINCT FROM tool.hash
    ) ORDER BY tool.server_id, tool.position)
    FROM elo_t_tenant_mcp_tools AS tool
    WHERE tool.tenant_id = tenant.id AND tool.position IS NOT NULL
  ), '[]')::text AS server_tools,
  coalesce((
    SELECT json_agg(json_build_object(
      'name', secret.name, 'is_shared', secret.tenant_id IS NULL, 'sealed', secret.sealed
    ) ORDER BY secret.id)
    FROM elo_agent_secrets AS secret
    WHERE secret.tenant_id = tenant.id OR secret.tenant_id IS NULL
  ), '[]')::text AS secrets,
  elo_agent_channel_credentials(tenant.id)::text AS channels,
  -- With an agent:
  json_build_object(
    'is_any', EXISTS (
      SELECT FROM elo_agents AS agent WHERE agent.tenant_id = tenant.id OR agent.tenant_id IS NULL AND agent.is_active
    ),
    'rows', (
      SELECT coalesce(json_agg(to_json(agent) ORDER BY agent.tenant_id NULLS LAST), '[]')
      FROM elo_agents AS agent
      WHERE agent.name = (SELECT :agent::text) AND (agent.tenant_id = tenant.id OR agent.tenant_id IS NULL)
    ),
    'below', (
      SELECT coalesce(json_agg(to_json(found) ORDER BY name), '[]')
      FROM (
        SELECT DISTINCT ON (below.name) below.name, left(below.description, 1000) AS description, below.is_active
        FROM elo_agents AS below
        WHERE (below.tenant_id = tenant.id OR below.tenant_id IS NULL) AND below.name IN (
          SELECT unnest((SELECT :subAgents::text[]))
          UNION ALL SELECT unnest(agent.sub_agents) FROM elo_agents AS agent
          WHERE agent.name = (SELECT :agent::text) AND (agent.tenant_id = tenant.id OR agent.tenant_id IS NULL)
        )
        ORDER BY below.name, below.tenant_id NULLS LAST
      ) AS found
    )
  )::text AS agents,
  -- Skills without their texts, which are read when a model asks for them. Of those that only a star names one more than a run can
  -- have, which shows that some are left out.
  (
    SELECT coalesce(json_agg(json_build_object('name', name, 'description', description) ORDER BY is_named DESC, name), '[]')
    FROM (
      SELECT name, description, is_named, row_number() OVER (PARTITION BY is_named ORDER BY name) AS place
      FROM (
        SELECT DISTINCT ON (skill.name) skill.name, skill.description, skill.is_active, skill.name = ANY (asked.names) AS is_named
        FROM elo_agent_skills AS skill, LATERAL (
          SELECT array_agg(name) AS names FROM (
            SELECT unnest((SELECT :skills::text[])) AS name
            UNION ALL SELECT unnest(agent.skills) FROM elo_agents AS agent
            WHERE agent.name = (SELECT :agent::text) AND (agent.tenant_id = tenant.id OR agent.tenant_id IS NULL)
          ) AS given
        ) AS asked
        WHERE (skill.tenant_id = tenant.id OR skill.tenant_id IS NULL)
          AND (skill.name = ANY (asked.names) OR '*' = ANY (asked.names))
        ORDER BY skill.name, skill.tenant_id NULLS LAST
      ) AS found
      WHERE is_active
    ) AS offered
    WHERE is_named OR place <= 101
  )::text AS skills,
  -- Always:
  elo_agent_policy_version(tenant.id) AS policy_version
FROM elo_v_agent_tenants AS tenant
WHERE tenant.id = ANY ((SELECT :tenantIds::uuid[])::uuid[])
