-- Rows for the workflow "Lone agent".
-- Tiers: a tenant with settings.max_tier may use a new tier only once it has a rank (nano 1, small 2, optima 3, pro 4, expert 5):
-- UPDATE elo_agent_tiers SET rank = 3 WHERE code = '...';
-- A tenant with a money limit needs a price for the model: a row in elo_model_pricing.
SET client_encoding = 'UTF8';
BEGIN;

-- For the node "Assistant", which stands for: Assistant.
-- Tier lone_assista_nei9kk6: Assistant.
INSERT INTO elo_agent_tiers (code, name, model_id, max_tokens, temperature)
VALUES ('lone_assista_nei9kk6', 'Lone agent: Assistant', 'openai/gpt-4.1-mini', 700, 0.25)
ON CONFLICT (code) DO NOTHING;

COMMIT;
