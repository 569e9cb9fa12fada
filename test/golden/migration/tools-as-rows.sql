-- Rows for the workflow "Tools as rows".
-- Tools: what stands as vault:NAME is a secret that this file does not hold. Put it into the vault for each tenant:
-- universal-ai-agent secret set --tenant ID --name NAME
SET client_encoding = 'UTF8';
BEGIN;

-- For the node "Universal AI Agent", which stands for: AI Agent nano, AI Agent small, AI Agent optima.
-- Tool Find_Orders: Find Orders.
-- Tool weather: weather.
-- Tool Shop_Server: Shop Server.
INSERT INTO elo_agent_tools (code, name, description, parameters_schema, transport, mcp_endpoint, auth_header, timeout_ms, transport_config, allowed_tiers)
VALUES ('Find_Orders', 'Find Orders', 'Finds the orders of a customer', '{"type":"object","properties":{"customer":{"type":"string","description":"Name of the customer"}},"required":["customer"],"additionalProperties":false}', 'rest', 'http://tools.example.com', NULL, 300000, '{"method":"GET","path":"/orders","query":{"customer":"{{customer}}"}}'::jsonb, NULL)
ON CONFLICT (code) DO NOTHING;
-- Fails when another tool has this code already: rename the tool in the workflow, and migrate again.
SELECT ('the code ' || code || ' is that of another tool already')::int FROM elo_agent_tools
WHERE code = 'Find_Orders' AND (transport, mcp_endpoint, transport_config) IS DISTINCT FROM ('rest', 'http://tools.example.com', '{"method":"GET","path":"/orders","query":{"customer":"{{customer}}"}}'::jsonb);
INSERT INTO elo_t_tenant_tools (tenant_id, tool_id)
SELECT '11111111-1111-4111-8111-111111111111', id FROM elo_agent_tools WHERE code = 'Find_Orders'
ON CONFLICT DO NOTHING;
INSERT INTO elo_agent_tools (code, name, description, parameters_schema, transport, mcp_endpoint, auth_header, timeout_ms, transport_config, allowed_tiers)
VALUES ('weather', 'weather', 'Gives the weather of a city', '{"type":"object","properties":{"city":{"type":"string","description":"Name of the city"}},"required":["city"],"additionalProperties":false}', 'rest', 'http://tools.example.com', NULL, 300000, '{"method":"GET","path":"/weather/{{city}}"}'::jsonb, NULL)
ON CONFLICT (code) DO NOTHING;
-- Fails when another tool has this code already: rename the tool in the workflow, and migrate again.
SELECT ('the code ' || code || ' is that of another tool already')::int FROM elo_agent_tools
WHERE code = 'weather' AND (transport, mcp_endpoint, transport_config) IS DISTINCT FROM ('rest', 'http://tools.example.com', '{"method":"GET","path":"/weather/{{city}}"}'::jsonb);
INSERT INTO elo_t_tenant_tools (tenant_id, tool_id)
SELECT '11111111-1111-4111-8111-111111111111', id FROM elo_agent_tools WHERE code = 'weather'
ON CONFLICT DO NOTHING;
INSERT INTO elo_agent_mcp_servers (code, url, transport, auth, include_tools, exclude_tools, settings, allowed_tiers)
VALUES ('Shop_Server', 'http://mcp.example.com/mcp', 'http', '{"kind":"none"}', ARRAY['echo'], ARRAY[]::text[], '{"call_timeout_ms":60000}', NULL)
ON CONFLICT (code) DO NOTHING;
-- Fails when another server has this code already: rename the node in the workflow, and migrate again.
SELECT ('the code ' || code || ' is that of another server already')::int FROM elo_agent_mcp_servers
WHERE code = 'Shop_Server' AND url IS DISTINCT FROM 'http://mcp.example.com/mcp';
INSERT INTO elo_t_tenant_mcp_servers (tenant_id, server_id)
SELECT '11111111-1111-4111-8111-111111111111', id FROM elo_agent_mcp_servers WHERE code = 'Shop_Server'
ON CONFLICT DO NOTHING;

COMMIT;
