import type { ILoadOptionsFunctions } from 'n8n-workflow';

import { getTiers } from '../../nodes/UniversalAiAgent/panel/pickers';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { createMigratedDatabase } from '../support/servers/database';

const tiersOf = (url: string) => {
  const context = { getCredentials: () => Promise.resolve(postgresCredential(url)), getNode: () => ({ name: 'x' }) };
  return getTiers.call(context as unknown as ILoadOptionsFunctions);
};

it('a tier says what it is for, and what its model costs', async () => {
  const database = await createMigratedDatabase();
  await database.query(`INSERT INTO elo_agent_tiers (code, name, model_id, rank) VALUES ('own', 'Own', 'a/b', 9)`);
  const tiers = await tiersOf(database.url);
  expect(tiers.map(({ value, description }) => [value, description])).toEqual([
    ['', 'The tier in the settings of the tenant, or else nano'],
    ['nano', 'For short answers without tools. Free'],
    ['small', expect.stringMatching(/^For simple questions at the lowest price\. \$[\d.]+ \/ \$[\d.]+ per 1M$/)],
    ['optima', expect.stringMatching(/^Balances price and quality\. \$/)],
    ['pro', expect.stringMatching(/^Good at using tools\. \$/)],
    ['expert', expect.stringMatching(/^For the best quality\. \$/)],
    ['own', 'No price'],
  ]);
  await database.close();
});

it('the built-in tiers say what they are for where the database cannot be asked', async () => {
  const tiers = await tiersOf('postgres://x:x@127.0.0.1:1/x');
  expect(tiers.slice(1).map(({ value }) => value)).toEqual(['nano', 'small', 'optima', 'pro', 'expert']);
  expect(tiers.every(({ description = '' }) => description !== '')).toBe(true);
});
