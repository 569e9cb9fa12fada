-- Rows for the workflow "Own tiers".
-- Tiers: a tenant with settings.max_tier may use a new tier only once it has a rank (nano 1, small 2, optima 3, pro 4, expert 5):
-- UPDATE elo_agent_tiers SET rank = 3 WHERE code = '...';
-- A tenant with a money limit needs a price for the model: a row in elo_model_pricing.
SET client_encoding = 'UTF8';
BEGIN;

-- For the node "Universal AI Agent", which stands for: AI Agent nano, AI Agent small, AI Agent pro, AI Agent expert.
-- Tier own_nano_q9ofmbm: AI Agent nano.
-- Tier own_small_5phl9un: AI Agent small.
-- Tier own_pro_ah3i90u: AI Agent pro.
-- Tier own_expert_gmitb12: AI Agent expert.
INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, temperature)
VALUES ('own_nano_q9ofmbm', 'Own tiers: AI Agent nano', 'meta-llama/llama-3.1-8b-instruct', NULL, NULL)
ON CONFLICT (code) DO NOTHING;
INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, temperature)
VALUES ('own_small_5phl9un', 'Own tiers: AI Agent small', 'qwen/qwen3-8b', 300, 0.9)
ON CONFLICT (code) DO NOTHING;
INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, temperature)
VALUES ('own_pro_ah3i90u', 'Own tiers: AI Agent pro', 'openai/gpt-4o-mini', NULL, NULL)
ON CONFLICT (code) DO NOTHING;
INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, temperature)
VALUES ('own_expert_gmitb12', 'Own tiers: AI Agent expert', 'anthropic/claude-3-5-sonnet', NULL, 0)
ON CONFLICT (code) DO NOTHING;

COMMIT;
