import { randomUUID } from 'node:crypto';

import type { Workflow } from '../../runtime/workflow-migration/contract';
import { openEditor } from '../../scripts/lib/editor.mjs';
import { addTenant, createMigratedDatabase, type TestDatabase } from '../support/servers/database';
import {
  aPlainExport,
  failures,
  makeMigrationFolder,
  type MigrationFolder,
} from '../support/workflows/migration-folder';
import { prompts } from '../support/workflows/workflow-parts';
import type { CliOutcome } from '../support/worlds/cli';
import { addPostgresCredential, connect, type Credential, type N8n } from './support/host';
import { loneAgent } from './support/lone-agent';
import { filledIn, type MigrationWorld, observeSaved, startWorld } from './support/migration';

// Processes of their own and pages of the editor take long on a busy machine.
jest.setTimeout(120_000);

interface Stored extends Workflow {
  readonly id: string;
  readonly name: string;
  readonly active: boolean;
}

let n8n: N8n;
let world: MigrationWorld;
let database: TestDatabase;
let postgres: Credential;
let tenant: string;
let folder: MigrationFolder;
let key: string;
let ids: { readonly shop: string; readonly help: string; readonly plain: string };

beforeAll(async () => {
  n8n = await connect().catch(connect);
  world = await startWorld(n8n);
  database = await createMigratedDatabase();
  postgres = await addPostgresCredential(n8n, database.url);
  tenant = await addTenant(database);
  key = await apiKey(['workflow:list', 'workflow:read', 'workflow:create']);
});
afterAll(() => Promise.all([world.close(), database.close()]));

/** As a person makes one in the settings of n8n. */
async function apiKey(scopes: readonly string[]): Promise<string> {
  const made = (await n8n.rest('POST', '/api-keys', { label: randomUUID(), scopes, expiresAt: null })) as {
    readonly rawApiKey: string;
  };
  return made.rawApiKey;
}

const shop = (): Workflow =>
  filledIn(world, loneAgent({ version: '3.1', parameters: prompts('={{ $json.message }}', 'You are a clerk.') }));

beforeEach(async () => {
  folder = makeMigrationFolder();
  const mark = randomUUID().slice(0, 8);
  const save = async (workflow: Workflow, name: string): Promise<string> =>
    (await n8n.createWorkflow({ ...workflow, name: `${name} ${mark}` })).id;
  ids = {
    shop: await save(shop(), 'Shop'),
    help: await save({ ...shop(), settings: { executionOrder: 'v1', timezone: 'Europe/Rome' } }, 'Help'),
    plain: await save(aPlainExport(), 'Plain'),
  };
});
afterEach(() => folder.remove());

const migrate = (words: readonly string[], more: readonly string[] = [], address = n8n.baseUrl): Promise<CliOutcome> =>
  folder.migrate(
    [
      ...words,
      ...['--n8n-url', address, '--sql', folder.at('rows.sql'), '--report', folder.at('report.json')],
      ...['--tenant', tenant, '--postgres-credential', `${postgres.id}:${postgres.name}`, ...more],
    ],
    { env: { N8N_API_KEY: key } },
  );

const stored = async (id: string): Promise<Stored> => (await n8n.rest('GET', `/workflows/${id}`)) as Stored;

/** Every workflow that n8n has, by its id. */
async function all(): Promise<ReadonlyMap<string, string>> {
  const found = (await n8n.rest('GET', '/workflows')) as readonly { readonly id: string; readonly name: string }[];
  return new Map(found.map(({ id, name }) => [id, name]));
}

/** The id that the command names for the copy of this one. */
function copyOf({ stdout }: CliOutcome, id: string): string {
  const copy = new RegExp(`^${id} -> (\\S+) `, 'm').exec(stdout)?.[1];
  if (copy === undefined) throw new Error(`no copy of ${id}: ${stdout}`);
  return copy;
}

it('writes an inactive copy that runs as the original does, which stays as it was', async () => {
  const before = await stored(ids.shop);
  const outcome = await migrate([ids.shop, ids.plain]);
  expect(outcome).toMatchObject({ exitCode: 0, stderr: '' });
  expect(outcome.stdout).toContain('2 files: 1 migrated, 1 left, 0 failed.');
  expect(await stored(ids.shop)).toEqual(before);
  const copy = await stored(copyOf(outcome, ids.shop));
  expect(copy).toMatchObject({ name: `${before.name} (migrated)`, active: false, pinData: before.pinData });
  expect(copy.nodes.map(({ name, type }) => [name, type.replace(/^.*\./, '')]).sort()).toEqual([
    ['AI Agent', 'universalAiAgent'],
    ['Answer', 'set'],
    expect.arrayContaining(['stickyNote']),
    ['Start', 'manualTrigger'],
  ]);
  const asked = await observeSaved(world, before);
  expect(asked.requests).toHaveLength(3);
  expect(await observeSaved(world, copy)).toEqual(asked);
});

it('makes a copy that the editor opens without a red mark', async () => {
  const copy = copyOf(await migrate([ids.help]), ids.help);
  expect(await stored(copy)).toMatchObject({ settings: { executionOrder: 'v1', timezone: 'Europe/Rome' } });
  const editor = await openEditor({ host: n8n });
  try {
    await editor.login();
    await editor.openWorkflow(copy);
    const { page } = editor;
    await page.locator('[data-test-id="canvas-node"][data-node-name="AI Agent"]').waitFor();
    expect(await page.locator('[data-test-id="node-issues"]').count()).toBe(0);
  } finally {
    await editor.close();
  }
});

it('makes no second copy, and a new one when the first was deleted', async () => {
  const copy = copyOf(await migrate([ids.shop]), ids.shop);
  const before = await all();
  const again = await migrate([ids.shop]);
  expect(again).toMatchObject({ exitCode: 0, stderr: '' });
  expect(again.stdout).toMatch(new RegExp(`^${ids.shop} -> ${copy} .*was there already`, 'm'));
  expect(await all()).toEqual(before);
  await n8n.rest('POST', `/workflows/${copy}/archive`, {});
  await n8n.rest('DELETE', `/workflows/${copy}`);
  expect(copyOf(await migrate([ids.shop]), ids.shop)).not.toBe(copy);
});

it('reads all of them, page by page, and copies no copy', async () => {
  // More than a page of the public API holds.
  await Promise.all(
    Array.from({ length: 101 }, (_, index) => n8n.createWorkflow({ ...aPlainExport(`Many ${index}`) })),
  );
  const first = await migrate(['all']);
  expect(copyOf(first, ids.shop)).not.toBe(copyOf(first, ids.help));
  const before = await all();
  const second = await migrate(['all']);
  expect(copyOf(second, ids.help)).toBe(copyOf(first, ids.help));
  expect(await all()).toEqual(before);
});

it('writes nothing in a dry run', async () => {
  const before = await all();
  const outcome = await migrate([ids.shop, ids.help], ['--dry-run']);
  expect(outcome.exitCode).toBe(0);
  expect(outcome.stdout).toContain(`+++ b/${ids.shop}.json`);
  expect(await all()).toEqual(before);
  expect(folder.files()).toEqual([]);
});

interface Wrong {
  readonly keyOf?: () => Promise<string>;
  readonly address?: () => string;
}

describe('fails with a code, shows no key and writes nothing', () => {
  it.each<[string, string, Wrong]>([
    ['N8N_UNAUTHORIZED', 'a key of nobody', { keyOf: () => Promise.resolve('n8n-key-of-nobody') }],
    ['N8N_UNAUTHORIZED', 'a key that may not read', { keyOf: () => apiKey(['tag:list']) }],
    ['N8N_UNAVAILABLE', 'a port where nobody is', { address: () => 'http://127.0.0.1:9' }],
    ['N8N_REFUSED', 'an address below n8n', { address: () => `${n8n.baseUrl}/home` }],
    ['N8N_REFUSED', 'another server', { address: () => world.tools.url }],
  ])('%s: %s', async (code, _what, wrong) => {
    const before = await all();
    const real = key;
    key = await (wrong.keyOf?.() ?? key);
    try {
      const outcome = await migrate([ids.shop, ids.help], [], wrong.address?.());
      expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
      expect(failures(outcome)).toMatchObject([{ code }]);
      expect(outcome.stderr).not.toContain(key);
    } finally {
      key = real;
    }
    expect(await all()).toEqual(before);
    expect(folder.files()).toEqual([]);
  });

  it('tells of an id that n8n does not have, and does the others', async () => {
    const outcome = await migrate(['gone', ids.shop]);
    expect(outcome.exitCode).toBe(1);
    expect(failures(outcome)).toMatchObject([{ file: 'gone', code: 'N8N_WORKFLOW_NOT_FOUND' }]);
    expect((await stored(copyOf(outcome, ids.shop))).active).toBe(false);
  });

  it('tells of a key that may read and not write', async () => {
    const real = key;
    key = await apiKey(['workflow:list', 'workflow:read']);
    try {
      const outcome = await migrate([ids.shop]);
      expect(outcome.exitCode).toBe(1);
      expect(failures(outcome)).toMatchObject([{ file: ids.shop, code: 'N8N_UNAUTHORIZED' }]);
    } finally {
      key = real;
    }
  });
});
