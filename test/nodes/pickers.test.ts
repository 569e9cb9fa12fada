import type { ILoadOptionsFunctions } from 'n8n-workflow';

import { getTiers } from '../../nodes/shared/panel/model-pickers';
import { searchAgents } from '../../nodes/shared/panel/pickers';
import { showTenantTools } from '../../nodes/UniversalAiAgent/panel/pickers';
import { postgresCredential } from '../../scripts/lib/postgres-credential.mjs';
import { addTenant, createMigratedDatabase, giveTool, type TestDatabase } from '../support/servers/database';

let database: TestDatabase;
beforeAll(async () => {
  database = await createMigratedDatabase();
});
afterAll(() => database.close());

const panelOf = (url: string, tenant?: string): ILoadOptionsFunctions =>
  ({
    getCredentials: () => Promise.resolve(postgresCredential(url)),
    getNode: () => ({ name: 'x' }),
    getCurrentNodeParameter: () => ({ value: tenant }),
  }) as unknown as ILoadOptionsFunctions;

it('a tier says what it is for, and what its model costs', async () => {
  await database.query(`INSERT INTO elo_agent_tiers (code, name, model_id, rank) VALUES ('own', 'Own', 'a/b', 9)`);
  const tiers = await getTiers.call(panelOf(database.url));
  expect(tiers.map(({ value, description }) => [value, description])).toEqual([
    ['', 'The tier in the settings of the tenant, or else nano'],
    ['nano', 'For short answers without tools. Free'],
    ['small', expect.stringMatching(/^For simple questions at the lowest price\. \$[\d.]+ \/ \$[\d.]+ per 1M$/)],
    ['optima', expect.stringMatching(/^Balances price and quality\. \$/)],
    ['pro', expect.stringMatching(/^Good at using tools\. \$/)],
    ['expert', expect.stringMatching(/^For the best quality\. \$/)],
    ['own', 'No price'],
  ]);
});

it('the built-in tiers say what they are for where the database cannot be asked', async () => {
  const tiers = await getTiers.call(panelOf('postgres://x:x@127.0.0.1:1/x'));
  expect(tiers.slice(1).map(({ value }) => value)).toEqual(['nano', 'small', 'optima', 'pro', 'expert']);
  expect(tiers.every(({ description = '' }) => description !== '')).toBe(true);
});

it('the line under the tenant names its tools, and those of no other one', async () => {
  const [tenant, other] = [await addTenant(database), await addTenant(database)];
  await giveTool(database, tenant, { code: 'find_orders' });
  await giveTool(database, tenant, { code: 'a_send' });
  await giveTool(database, other, { code: 'theirs' });
  await database.query(`UPDATE elo_agent_tools SET description = '<img src=x> & more' WHERE code = 'find_orders'`);
  await database.query(`UPDATE elo_agent_tools SET description = NULL WHERE code = 'a_send'`);
  expect(await showTenantTools.call(panelOf(database.url, tenant))).toEqual([
    {
      name: '2: find_orders, a_send',
      value: '',
      description: '<b>find_orders</b> &lt;img src=x&gt; &amp; more<br><b>a_send</b> ',
    },
  ]);
  expect(await showTenantTools.call(panelOf(database.url))).toEqual([{ name: 'None', value: '', description: '' }]);
});

it('the list of agents has those that tasks of the tenant may name, each once', async () => {
  const settings = { tool_config: { agents: { ruled: {} } } };
  const [tenant, other] = [await addTenant(database, { settings }), await addTenant(database)];
  await database.query(
    `INSERT INTO elo_agents (tenant_id, name, is_active) VALUES
      ($1, 'support', true), (NULL, 'support', true), (NULL, 'sales', true), ($1, 'off', false), ($2, 'theirs', true)`,
    [tenant, other],
  );
  const found = async (filter?: string, of?: string) =>
    (await searchAgents.call(panelOf(database.url, of), filter)).results.map(({ value }) => value);
  expect(await found(undefined, tenant)).toEqual(['sales', 'support', 'ruled']);
  expect(await found('SUP', tenant)).toEqual(['support']);
  expect(await found()).toEqual([]);
});
