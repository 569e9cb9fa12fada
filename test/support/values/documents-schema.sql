-- The schema of the source documents, as it stands there, with the tenant table that it refers to.
CREATE TABLE elo_tenants (id UUID PRIMARY KEY, name VARCHAR(255));
INSERT INTO elo_tenants VALUES ('aaaaaaaa-0000-4000-8000-000000000001', 'The documents'' tenant');

CREATE TABLE elo_agent_tools (
    id SERIAL PRIMARY KEY,
    code VARCHAR(50) UNIQUE NOT NULL,
    name VARCHAR(100) NOT NULL,
    description TEXT,
    parameters_schema JSONB,      -- OpenAI function schema
    mcp_endpoint VARCHAR(500),    -- HTTP endpoint for tool execution
    auth_header VARCHAR(500),     -- Authorization header
    timeout_ms INT DEFAULT 30000,
    is_active BOOLEAN DEFAULT true,
    sort_order INT DEFAULT 0
);

CREATE TABLE elo_t_tenant_tools (
    id SERIAL PRIMARY KEY,
    tenant_id UUID NOT NULL REFERENCES elo_tenants(id),
    tool_id INT NOT NULL REFERENCES elo_agent_tools(id),
    is_enabled BOOLEAN DEFAULT true,
    custom_config JSONB,          -- tenant-specific overrides
    created_at TIMESTAMPTZ DEFAULT NOW(),
    UNIQUE(tenant_id, tool_id)
);

INSERT INTO elo_agent_tools (code, name, description, parameters_schema, mcp_endpoint) VALUES
('mcp_telegram', 'Send Telegram Message', 'Send message to Telegram chat',
 '{"type":"object","properties":{"chat_id":{"type":"string"},"text":{"type":"string"}},"required":["chat_id","text"]}',
 'http://mcp-telegram:8767/send'),

('mcp_whatsapp', 'Send WhatsApp Message', 'Send message to WhatsApp',
 '{"type":"object","properties":{"phone":{"type":"string"},"text":{"type":"string"}},"required":["phone","text"]}',
 'http://mcp-whatsapp:8766/send'),

('sql_query', 'Execute SQL Query', 'Run read-only SQL query',
 '{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}',
 'http://api-internal:8080/sql'),

('neo4j_query', 'Query Neo4j', 'Run Cypher query on knowledge graph',
 '{"type":"object","properties":{"cypher":{"type":"string"}},"required":["cypher"]}',
 'http://api-internal:8080/neo4j'),

('http_request', 'HTTP Request', 'Make external HTTP request',
 '{"type":"object","properties":{"method":{"type":"string"},"url":{"type":"string"},"body":{"type":"object"}},"required":["method","url"]}',
 'http://api-internal:8080/http'),

('embeddings', 'Search Embeddings', 'Semantic search in vector store',
 '{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}',
 'http://api-internal:8080/embeddings');

INSERT INTO elo_t_tenant_tools (tenant_id, tool_id)
SELECT 'aaaaaaaa-0000-4000-8000-000000000001', id FROM elo_agent_tools;
