-- Rows for the workflow "OpenAI branches".
-- Tiers: a tenant with settings.max_tier may use a new tier only once it has a rank (nano 1, small 2, optima 3, pro 4, expert 5):
-- UPDATE elo_agent_tiers SET rank = 3 WHERE code = '...';
-- A tenant with a money limit needs a price for the model: a row in elo_model_pricing.
SET client_encoding = 'UTF8';
BEGIN;

-- For the node "Universal AI Agent", which stands for: Agent small, Agent pro.
-- Tier openai_small_vozreoi: Agent small.
-- Tier openai_pro_49lduyc: Agent pro.
INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, temperature)
VALUES ('openai_small_vozreoi', 'OpenAI branches: Agent small', 'gpt-4o-mini', 256, 0.2)
ON CONFLICT (code) DO NOTHING;
INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, temperature)
VALUES ('openai_pro_49lduyc', 'OpenAI branches: Agent pro', 'gpt-4o', 256, 0.2)
ON CONFLICT (code) DO NOTHING;

COMMIT;
