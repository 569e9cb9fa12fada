-- Rows for the workflow "Mapped tiers".
-- Tiers: a tenant with settings.max_tier may use a new tier only once it has a rank (nano 1, small 2, optima 3, pro 4, expert 5):
-- UPDATE elo_agent_tiers SET rank = 3 WHERE code = '...';
-- A tenant with a money limit needs a price for the model: a row in elo_model_pricing.
SET client_encoding = 'UTF8';
BEGIN;

-- For the node "Universal AI Agent", which stands for: AI Agent nano, AI Agent small, AI Agent pro.
-- Tier mapped_pro_qh86163: AI Agent pro.
-- Fails when there is no such tier: correct --tier-map, and migrate again.
SELECT concat('there is no tier house, only ', string_agg(code, ', ' ORDER BY code))::int FROM elo_agent_tiers
HAVING NOT coalesce(bool_or(code = 'house'), false);
-- Fails when there is no such tier: correct --tier-map, and migrate again.
SELECT concat('there is no tier small, only ', string_agg(code, ', ' ORDER BY code))::int FROM elo_agent_tiers
HAVING NOT coalesce(bool_or(code = 'small'), false);
INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, temperature)
VALUES ('mapped_pro_qh86163', 'Mapped tiers: AI Agent pro', 'openai/gpt-4o-mini', 2000, 0.4)
ON CONFLICT (code) DO NOTHING;

COMMIT;
