import { readFileSync } from 'node:fs';

import type { Workflow } from '../../../runtime/workflow-migration/contract';
import { createMigratedDatabase, type TestDatabase } from '../../support/servers/database';
import {
  anExport,
  failures,
  makeMigrationFolder,
  type MigrationFolder,
  nodeTypes,
} from '../../support/workflows/migration-folder';
import { fiveNearly } from '../../support/workflows/workflow-fixtures-agency';
import { type CliOutcome, errorLine } from '../../support/worlds/cli';

const NORTH = '11111111-1111-4111-8111-111111111111';
const SOUTH = '22222222-2222-4222-8222-222222222222';
const CLOSED = '33333333-3333-4333-8333-333333333333';
const TIERS = ['nano', 'small', 'optima', 'pro', 'expert'];
const MAP = TIERS.map((tier) => `AI Agent ${tier}=${tier}`).join(',');

let database: TestDatabase;
let folder: MigrationFolder;

beforeEach(async () => {
  folder = makeMigrationFolder();
  database = await createMigratedDatabase();
  await database.query(
    `INSERT INTO elo_t_tenants (id, name, is_active) VALUES ($1, 'North', true), ($2, 'South', true), ($3, 'Closed', false)`,
    [NORTH, SOUTH, CLOSED],
  );
});
afterEach(async () => {
  folder.remove();
  await database.close();
});

const migrate = (...args: string[]): Promise<CliOutcome> =>
  folder.migrate(args, { env: { DATABASE_URL: database.url } });
const write = (): string => folder.write('shop.json', `${JSON.stringify(fiveNearly(), null, 1)}\n \n`);
const links = (): Promise<unknown[]> =>
  database.query(
    `SELECT link.tenant_id, tool.code, tool.allowed_tiers FROM elo_t_tenant_tools AS link
     JOIN elo_agent_tools AS tool ON tool.id = link.tool_id ORDER BY 1`,
  );
const tierCodes = async (): Promise<string[]> =>
  (await database.query<{ code: string }>('SELECT code FROM elo_agent_tiers ORDER BY rank NULLS LAST, code')).map(
    ({ code }) => code,
  );

it('moves five branches to one node for two tenants by one command, and back byte for byte', async () => {
  const file = write();
  const original = readFileSync(file, 'utf8');
  const command = [file, '-o', file, '--overwrite', '--report', folder.at('report.json')];
  const asked = ['--tier-map', MAP, '--drop-router', '--allow', 'unmatched-items'];
  const outcome = await migrate(...command, ...asked, '--apply', '--tenant', `${NORTH},${SOUTH}`);
  expect(outcome).toMatchObject({ exitCode: 0, stderr: '' });
  expect(outcome.stdout).toContain('Database: 3 rows added, 0 there already, for 2 tenants.');
  const migrated = JSON.parse(folder.read('shop.json')) as Workflow;
  expect(nodeTypes(folder.read('shop.json'))).toEqual(['manualTrigger', 'universalAiAgent', 'set', 'stickyNote']);
  expect(migrated.connections.Start).toEqual({ main: [[{ node: 'Universal AI Agent', type: 'main', index: 0 }]] });
  expect(migrated.nodes[1]?.parameters).toMatchObject({
    tenantId: { value: '={{ $json.tenant_id }}' },
    tier: expect.stringMatching(/'nano' : .*'small' : .*'optima' : .*'pro' : 'expert'/) as string,
    options: { tools: ['find_orders'] },
  });
  expect(await tierCodes()).toEqual(TIERS);
  expect(await links()).toEqual(
    [NORTH, SOUTH].map((tenant_id) => ({ tenant_id, code: 'find_orders', allowed_tiers: null })),
  );
  expect(folder.files()).toEqual(['report.json', 'report.md', 'shop.json']);
  expect((await migrate('--undo', folder.at('report.json'), '-o', file)).exitCode).toBe(0);
  expect(folder.read('shop.json')).toBe(original);
});

it('adds nothing the second time, and a further tenant to what is there', async () => {
  const file = write();
  const command = [file, '-o', folder.at('out.json'), '--apply', '--tenant'];
  expect((await migrate(...command, `${NORTH},${SOUTH}`)).stdout).toContain('8 rows added, 0 there already');
  const before = [folder.read('out.json'), await tierCodes(), await links()];
  const again = await migrate(...command, 'all');
  expect(again.stdout).toContain('Database: 0 rows added, 8 there already, for 2 tenants.');
  expect([folder.read('out.json'), await tierCodes(), await links()]).toEqual(before);
  const third = await migrate(...command, CLOSED, '--tenant', '{{ $json.tenant_id }}');
  expect(third.stdout).toContain('Database: 1 row added, 6 there already, for 1 tenant.');
  expect(await links()).toHaveLength(3);
});

it.each(['Shop', undefined])('adds nothing the second time for a workflow named %j', async (name) => {
  const file = folder.write('orders.json', { ...anExport(), name });
  const command = [file, '-o', folder.at('out.json'), '--overwrite', '--apply', '--tenant', NORTH];
  expect((await migrate(...command)).stdout).toContain('Database: 1 row added, 0 there already');
  const before = [folder.read('out.json'), await tierCodes()];
  expect(await tierCodes()).toContainEqual(
    expect.stringMatching(name === undefined ? /^orders_\w{7}$/ : /^shop_\w{7}$/),
  );
  expect((await migrate(...command)).stdout).toContain('Database: 0 rows added, 1 there already');
  expect([folder.read('out.json'), await tierCodes()]).toEqual(before);
});

it('keeps the row that an earlier build added under other words', async () => {
  const file = folder.write('shop.json', anExport());
  const command = [file, '-o', folder.at('out.json'), '--overwrite', '--apply', '--tenant', NORTH];
  await migrate(...command);
  await database.query(`UPDATE elo_agent_tiers SET code = 'agent_' || right(code, 7) WHERE code LIKE 'shop%'`);
  expect((await migrate(...command)).stdout).toContain('Database: 0 rows added, 1 there already');
  expect(folder.read('out.json')).toMatch(/"agent_[0-9a-z]{7}"/);
});

it('takes the tiers of the database for those that are there, and proposes them', async () => {
  await database.query(`UPDATE elo_agent_tiers SET temperature = 0.6 WHERE code = 'pro'`);
  await database.query(`UPDATE elo_agent_tiers SET model_id = 'house/model' WHERE code = 'nano'`);
  const outcome = await migrate(write(), '--dry-run', '--apply', '--tenant', 'all');
  expect(outcome.stderr).toContain('AI Agent pro: tier pro with openai/gpt-4o-mini\n');
  expect(outcome.stderr).toMatch(
    /AI Agent small: .* differs only in temperature: --tier-map five_small_\w+=small would change 0\.60 to 0\.20\./,
  );
  expect(outcome.stderr).not.toContain('=nano would change');
});

it('writes nothing in a dry run, and says what it would', async () => {
  const outcome = await migrate(write(), '--dry-run', '--apply', '--tenant', 'all');
  expect(outcome.exitCode).toBe(0);
  expect(outcome.stderr).toContain('Database: 8 rows would be added, 0 there already, for 2 tenants.');
  expect(await tierCodes()).toEqual(TIERS);
  expect(await links()).toEqual([]);
  expect(folder.files()).toEqual(['shop.json']);
});

it('runs for one tenant with its id in the node', async () => {
  await migrate(write(), '-o', folder.at('out.json'), '--apply', '--tenant', NORTH);
  expect(folder.read('out.json')).toContain(`"value": "${NORTH}"`);
  expect(await links()).toMatchObject([{ tenant_id: NORTH }]);
});

describe.each([
  ['a tool of another server has the code', [] as string[], 'the code find_orders is that of another tool already'],
  ['the map names no tier', ['--tier-map', 'AI Agent nano=cheap'], 'there is no tier cheap, only expert, nano, optima'],
])('when %s', (_when, more, reason) => {
  it('nothing is written, neither rows nor files', async () => {
    await database.query(
      `INSERT INTO elo_agent_tools (code, name, description, parameters_schema, transport, mcp_endpoint)
       VALUES ('find_orders', 'Other', 'Other', '{}', 'rest', 'https://other.example.com')`,
    );
    const outcome = await migrate(write(), '-o', folder.at('out.json'), '--apply', '--tenant', 'all', ...more);
    expect(outcome.exitCode).toBe(1);
    expect(errorLine(outcome)).toMatchObject({
      code: 'MIGRATION_ROWS_REFUSED',
      message: expect.stringContaining(reason) as string,
    });
    expect(await tierCodes()).toEqual(TIERS);
    expect(await links()).toEqual([]);
    expect(folder.files()).toEqual(['shop.json']);
  });
});

it('refuses a tenant that is not there before anything is done', async () => {
  const stranger = '44444444-4444-4444-8444-444444444444';
  const outcome = await migrate(write(), '-o', folder.at('out.json'), '--apply', '--tenant', `${NORTH},${stranger}`);
  expect(outcome.exitCode).toBe(1);
  expect(errorLine(outcome)).toMatchObject({ code: 'TENANT_NOT_FOUND' });
  expect(folder.files()).toEqual(['shop.json']);
});

it('refuses two workflows that need one row with different values', async () => {
  folder.write('in/a.json', fiveNearly());
  folder.write('in/b.json', JSON.parse(JSON.stringify(fiveNearly()).replaceAll('tools.example', 'other.example')));
  const outcome = await migrate(folder.at('in'), '-o', folder.at('out'), '--apply', '--tenant', NORTH);
  expect(failures(outcome)).toMatchObject([{ code: 'MIGRATION_ROWS_CLASH' }]);
  expect(await links()).toHaveLength(1);
});

it.each([
  [['--apply'], '--apply needs --tenant ID,... or --tenant all.'],
  [['--apply', '--tenant', `all,${NORTH}`], '--tenant takes ids, or all, not both.'],
  [['--tenant', 'all', '--sql', 'x.sql'], '--tenant all needs --apply.'],
  [['--tenant', `${NORTH},${SOUTH}`, '--sql', 'x.sql'], 'Several values of --tenant need --apply.'],
  [['--tier-map', 'nano', '--sql', 'x.sql'], '--tier-map is OURS=THEIRS'],
  [['--tier-map', 'a=nano,a=small', '--sql', 'x.sql'], '--tier-map names something twice.'],
])('is wrong use: %j', async (args, text) => {
  const outcome = await migrate(write(), '-o', folder.at('out.json'), ...args);
  expect(outcome.exitCode).toBe(2);
  expect(outcome.stderr).toContain(text);
  expect(folder.files()).toEqual(['shop.json']);
});
