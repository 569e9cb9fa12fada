-- Rows for the workflow "Copied tools".
-- Tools: what stands as vault:NAME is a secret that this file does not hold. Put it into the vault for each tenant:
-- universal-ai-agent secret set --tenant ID --name NAME
SET client_encoding = 'UTF8';
BEGIN;

-- For the node "Universal AI Agent", which stands for: AI Agent nano, AI Agent small, AI Agent optima.
-- Tool find_orders: find_orders_small.
-- Tool find_orders: find_orders_optima.
-- Tool find_refunds: find_refunds.
INSERT INTO elo_agent_tools (code, name, description, parameters_schema, transport, mcp_endpoint, auth_header, timeout_ms, transport_config, allowed_tiers)
VALUES ('find_orders', 'find_orders', 'Finds the orders of a customer', '{"type":"object","properties":{"customer":{"type":"string","description":"Name of the customer"}},"required":["customer"],"additionalProperties":false}', 'rest', 'http://tools.example.com', NULL, 300000, '{"method":"GET","path":"/orders","query":{"customer":"{{customer}}"}}'::jsonb, ARRAY['small', 'optima'])
ON CONFLICT (code) DO NOTHING;
-- Fails when another tool has this code already: rename the tool in the workflow, and migrate again.
SELECT ('the code ' || code || ' is that of another tool already')::int FROM elo_agent_tools
WHERE code = 'find_orders' AND (transport, mcp_endpoint, transport_config) IS DISTINCT FROM ('rest', 'http://tools.example.com', '{"method":"GET","path":"/orders","query":{"customer":"{{customer}}"}}'::jsonb);
INSERT INTO elo_t_tenant_tools (tenant_id, tool_id)
SELECT '11111111-1111-4111-8111-111111111111', id FROM elo_agent_tools WHERE code = 'find_orders'
ON CONFLICT DO NOTHING;
INSERT INTO elo_agent_tools (code, name, description, parameters_schema, transport, mcp_endpoint, auth_header, timeout_ms, transport_config, allowed_tiers)
VALUES ('find_refunds', 'find_refunds', 'Finds the refunds of a customer', '{"type":"object","properties":{"customer":{"type":"string","description":"Name of the customer"}},"required":["customer"],"additionalProperties":false}', 'rest', 'http://tools.example.com', NULL, 300000, '{"method":"GET","path":"/orders","query":{"customer":"{{customer}}"}}'::jsonb, ARRAY['optima'])
ON CONFLICT (code) DO NOTHING;
-- Fails when another tool has this code already: rename the tool in the workflow, and migrate again.
SELECT ('the code ' || code || ' is that of another tool already')::int FROM elo_agent_tools
WHERE code = 'find_refunds' AND (transport, mcp_endpoint, transport_config) IS DISTINCT FROM ('rest', 'http://tools.example.com', '{"method":"GET","path":"/orders","query":{"customer":"{{customer}}"}}'::jsonb);
INSERT INTO elo_t_tenant_tools (tenant_id, tool_id)
SELECT '11111111-1111-4111-8111-111111111111', id FROM elo_agent_tools WHERE code = 'find_refunds'
ON CONFLICT DO NOTHING;

COMMIT;
