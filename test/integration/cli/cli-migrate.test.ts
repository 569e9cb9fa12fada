import { symlinkSync } from 'node:fs';

import type { Workflow } from '../../../runtime/workflow-migration/contract';
import {
  anExport,
  aPlainExport,
  failures,
  makeMigrationFolder,
  type MigrationFolder,
  nodeTypes,
} from '../../support/workflows/migration-folder';
import { attach, chain, main, node, workflow } from '../../support/workflows/workflow-builder';
import { branches, bufferMemory, first, prompts, tierSwitch } from '../../support/workflows/workflow-parts';
import { startCli } from '../../support/worlds/cli';

const OURS = 'universalAiAgent';
const AGENT = 'agent';

let folder: MigrationFolder;

beforeEach(() => {
  folder = makeMigrationFolder();
});
afterEach(() => folder.remove());

function disabled(workflow: Workflow): Workflow {
  return { ...workflow, nodes: workflow.nodes.map((node) => ({ ...node, disabled: true })) };
}

/** Two agents behind a Switch, of which one has a memory. */
function differing(): Workflow {
  const { parts, wires, agents } = branches(first(2), '3.1', () => prompts('={{ $json.message }}'));
  return workflow('Differing', {
    parts: [
      node('Start', 'base.manualTrigger@1'),
      tierSwitch('3.4', ['nano', 'small'], 'Router'),
      ...parts,
      bufferMemory('Memory', '1.3'),
    ],
    wires: [
      ...chain('Start', 'Router'),
      ...main('Router', ...agents.map((name) => [name])),
      ...wires,
      ...attach('Memory', 'ai_memory', agents.slice(1)),
    ],
  });
}

const outAndSql = (out: string): string[] => ['-o', folder.at(out), '--sql', folder.at('rows.sql')];

describe('one file', () => {
  it('is migrated to another, with its rows in the SQL file and a report in text', async () => {
    const file = folder.write('shop.json', anExport());
    const outcome = await folder.migrate([file, ...outAndSql('migrated.json')]);
    expect(outcome).toMatchObject({ exitCode: 0, stderr: '' });
    expect(outcome.stdout).toContain('Stands for: AI Agent');
    expect(outcome.stdout).toContain('1 file: 1 migrated, 0 left, 0 failed.');
    expect(nodeTypes(folder.read('migrated.json'))).toContain(OURS);
    expect(nodeTypes(folder.read('migrated.json'))).not.toContain(AGENT);
    expect(folder.read('rows.sql')).toMatch(/^-- shop\.json\n[^]*INSERT INTO elo_agent_tiers [^]*mistralai/);
    expect(folder.read('shop.json')).toBe(JSON.stringify(anExport(), null, 2));
  });

  it('goes to a folder under its own name', async () => {
    const file = folder.write('shop.json', anExport());
    await folder.migrate([file, ...outAndSql('out/')]);
    expect(folder.files()).toEqual(['out/shop.json', 'rows.sql', 'shop.json']);
  });

  it('comes from standard input and goes to standard output', async () => {
    const outcome = await folder.migrate(['-', '-o', '-', '--sql', folder.at('rows.sql')], {
      input: JSON.stringify(anExport()),
    });
    expect(outcome.exitCode).toBe(0);
    expect(nodeTypes(outcome.stdout)).toContain(OURS);
    expect(outcome.stderr).toContain('1 migrated');
  });

  it('is given back as it came when there is nothing to migrate', async () => {
    const input = `${JSON.stringify(aPlainExport(), null, 7)}  \r\n`;
    const outcome = await folder.migrate(['-', '-o', '-', '--sql', folder.at('rows.sql')], { input });
    expect(outcome).toMatchObject({ exitCode: 0, stdout: input });
    expect(folder.files()).toEqual([]);
  });

  it.each([
    ['tabs', '\t', '\n'],
    ['four spaces and Windows line ends', '    ', '\r\n'],
    ['a single line', '', ''],
  ])('keeps its layout: %s', async (_what, indent, newline) => {
    const text = JSON.stringify(anExport(), null, indent).replaceAll('\n', newline) + newline;
    const file = folder.write('shop.json', text);
    await folder.migrate([file, ...outAndSql('out.json')]);
    const migrated = folder.read('out.json');
    expect(migrated).toBe(JSON.stringify(JSON.parse(migrated), null, indent).replaceAll('\n', newline) + newline);
  });

  it('may hold a list, as n8n export:workflow writes it', async () => {
    const file = folder.write('all.json', [anExport('One'), aPlainExport(), anExport('Two')]);
    const outcome = await folder.migrate([file, ...outAndSql('out.json')]);
    expect(outcome.exitCode).toBe(0);
    const workflows = JSON.parse(folder.read('out.json')) as object[];
    expect(workflows.map((workflow) => nodeTypes(JSON.stringify(workflow)).includes(OURS))).toEqual([
      true,
      false,
      true,
    ]);
    expect(workflows[1]).toEqual(aPlainExport());
    expect(folder.read('rows.sql').match(/INSERT INTO elo_agent_tiers/g)).toHaveLength(2);
  });

  it('takes the tenant, the Postgres credential and what is allowed from the command line', async () => {
    const file = folder.write('shop.json', anExport());
    const options = [
      '--tenant',
      '{{ $json.shop }}',
      '--postgres-credential',
      'abc:Our database',
      '--tools',
      'connected',
    ];
    await folder.migrate([file, ...outAndSql('out.json'), ...options, '--allow', 'expressions,merged-runs']);
    expect(JSON.parse(folder.read('out.json'))).toMatchObject({
      nodes: expect.arrayContaining([
        expect.objectContaining({
          parameters: expect.objectContaining({
            tenantId: expect.objectContaining({ value: '={{ $json.shop }}' }) as object,
          }) as object,
          credentials: expect.objectContaining({ postgres: { id: 'abc', name: 'Our database' } }) as object,
        }),
      ]) as object[],
    });
  });
});

describe('workflows without a name', () => {
  const unnamed = (name?: string): Workflow => ({ ...anExport(), name });

  it.each([undefined, ''])('named %j are called after their file', async (name) => {
    folder.write('in/deep/orders.json', unnamed(name));
    const outcome = await folder.migrate([folder.at('in'), '--dry-run']);
    expect(outcome.stderr).toMatch(/^\S+orders\.json: orders\n/m);
    expect(outcome.stdout).toContain('-- Rows for the workflow "orders".\n');
    expect(outcome.stdout).toMatch(/VALUES \('orders_[0-9a-z]{7}', 'orders: AI Agent', /);
  });

  it('are numbered where a file holds several, and keep having no name', async () => {
    const file = folder.write('all.json', [unnamed(), anExport('Shop'), unnamed()]);
    await folder.migrate([file, ...outAndSql('out.json')]);
    expect(folder.read('rows.sql').match(/workflow ".*"/g)).toEqual(
      ['all 1', 'Shop', 'all 3'].map((name) => `workflow "${name}"`),
    );
    expect(JSON.parse(folder.read('out.json'))).toEqual([
      expect.not.objectContaining({ name: expect.anything() as string }),
      expect.objectContaining({ name: 'Shop' }),
      expect.not.objectContaining({ name: expect.anything() as string }),
    ]);
  });

  it('from standard input are called unnamed', async () => {
    const { stderr } = await folder.migrate(['-', '--dry-run'], { input: JSON.stringify(unnamed()) });
    expect(stderr).toMatch(/^standard input: unnamed workflow\n/m);
  });
});

describe('routers that another option drops', () => {
  it('are counted in the summary, with that option', async () => {
    const { parts, wires, agents } = branches(first(2), '3.1', () => prompts('={{ $json.message }}'));
    const start = node('Start', 'base.manualTrigger@1');
    const input = workflow('Two', {
      parts: [start, tierSwitch('3.4', ['nano', 'small'], 'Router'), ...parts],
      wires: [...chain('Start', 'Router'), ...main('Router', ...agents.map((name) => [name])), ...wires],
    });
    folder.write('in/a.json', input);
    const one = await folder.migrate([folder.at('in'), '--dry-run', '--drop-router']);
    expect(one.stderr).toContain('    Router: Add --allow unmatched-items to drop it too. Until then it stays. ');
    expect(one.stderr).toMatch(/\n1 router stays: add --allow unmatched-items to drop it too\. .*\n$/);
    folder.write('in/b.json', input);
    const two = await folder.migrate([folder.at('in'), '--dry-run', '--drop-router']);
    expect(two.stderr).toMatch(/\n2 routers stay: add --allow unmatched-items to drop them too\. .*\n$/);
    const allowed = await folder.migrate([folder.at('in'), '--dry-run', '--drop-router', '--allow', 'unmatched-items']);
    expect(allowed.stderr).toContain('In place of the router: Router');
    expect(allowed.stderr).toMatch(/2 files: 2 migrated, 0 left, 0 failed\.\n$/);
  });
});

describe('agents that differ', () => {
  it('are left with an offer, and migrated one by one with --each', async () => {
    const file = folder.write('shop.json', differing());
    const whole = await folder.migrate([file, ...outAndSql('left.json'), '--report', folder.at('left-report.json')]);
    expect(whole.stdout).toContain('Router: --each migrates 2 of its 2 agents one by one.');
    expect(folder.read('left-report.json')).toContain('--each migrates 2 of its 2 agents one by one.');
    expect(nodeTypes(folder.read('left.json'))).not.toContain(OURS);
    const each = await folder.migrate([file, ...outAndSql('each.json'), '--each']);
    expect(each).toMatchObject({ exitCode: 0, stderr: '' });
    expect(each.stdout).not.toContain('--each');
    expect(nodeTypes(folder.read('each.json')).filter((type) => [OURS, AGENT].includes(type))).toEqual([OURS, OURS]);
  });
});

describe('many files', () => {
  it('are each migrated, or copied byte for byte, into the same folders', async () => {
    folder.write('in/a.json', anExport('A'));
    folder.write('in/deep/er/b.json', anExport('B'));
    const plain = `\uFEFF${JSON.stringify(aPlainExport())}\n\n`;
    folder.write('in/plain.json', plain);
    folder.write('in/notes.txt', 'not asked for');
    folder.write('in/.git/c.json', '{');
    const outcome = await folder.migrate([folder.at('in'), ...outAndSql('out')]);
    expect(outcome).toMatchObject({ exitCode: 0, stdout: '3 files: 2 migrated, 1 left, 0 failed.\n', stderr: '' });
    expect(folder.files().filter((name) => name.startsWith('out/'))).toEqual([
      'out/a.json',
      'out/deep/er/b.json',
      'out/plain.json',
    ]);
    expect(folder.read('out/plain.json')).toBe(plain);
    expect(folder.read('rows.sql')).toMatch(/-- a\.json\n[^]*-- deep\/er\/b\.json\n/);
  });

  it('give the same when they are migrated again, and nothing is touched', async () => {
    folder.write('in/a.json', anExport('A'));
    folder.write('in/plain.json', aPlainExport());
    const again = () =>
      folder.migrate([folder.at('in'), ...outAndSql('in/out'), '--report', folder.at('in/report.json')]);
    const first = await again();
    const contents = () => folder.files().map((name) => [name, folder.read(name)]);
    const before = contents();
    expect(await again()).toEqual(first);
    expect(contents()).toEqual(before);
  });

  it('that were migrated already are left', async () => {
    folder.write('in/a.json', anExport('A'));
    await folder.migrate([folder.at('in'), ...outAndSql('once')]);
    const outcome = await folder.migrate([folder.at('once'), '-o', folder.at('twice'), '--sql', folder.at('more.sql')]);
    expect(outcome.exitCode).toBe(0);
    expect(outcome.stdout).toContain('1 file: 0 migrated, 1 left, 0 failed.\n');
    expect(folder.read('twice/a.json')).toBe(folder.read('once/a.json'));
    expect(folder.files()).not.toContain('more.sql');
  });

  it('are found once, whatever links lead in circles', async () => {
    folder.write('in/a.json', anExport('A'));
    symlinkSync(folder.at('in'), folder.at('in/again'));
    symlinkSync(folder.at('in/nowhere'), folder.at('in/broken.json'));
    const outcome = await folder.migrate([folder.at('in'), ...outAndSql('out')]);
    expect(outcome.exitCode).toBe(1);
    expect(failures(outcome)).toMatchObject([{ file: folder.at('in/broken.json'), code: 'WORKFLOW_UNREADABLE' }]);
    expect(folder.files()).toContain('out/a.json');
  });

  it('must not have one name at one place', async () => {
    const files = ['one/a.json', 'two/a.json'].map((name) => folder.write(name, anExport()));
    const outcome = await folder.migrate([...files, ...outAndSql('out')]);
    expect(outcome.exitCode).toBe(2);
    expect(outcome.stderr).toContain('would both be written to "a.json"');
    expect(folder.files()).toEqual(['one/a.json', 'two/a.json']);
  });
});

describe('a file that is there already', () => {
  it('is kept, and the others are written', async () => {
    folder.write('in/a.json', anExport('A'));
    folder.write('in/b.json', anExport('B'));
    folder.write('out/a.json', 'mine');
    const outcome = await folder.migrate([folder.at('in'), ...outAndSql('out')]);
    expect(outcome.exitCode).toBe(1);
    expect(failures(outcome)).toMatchObject([{ file: folder.at('in/a.json'), code: 'OUTPUT_EXISTS' }]);
    expect(folder.read('out/a.json')).toBe('mine');
    expect(nodeTypes(folder.read('out/b.json'))).toContain(OURS);
    expect(folder.read('rows.sql')).not.toContain('-- a.json');
    expect((await folder.migrate([folder.at('in'), ...outAndSql('out'), '--overwrite'])).exitCode).toBe(0);
    expect(nodeTypes(folder.read('out/a.json'))).toContain(OURS);
  });

  it('keeps everything from being written when it is the SQL file', async () => {
    const file = folder.write('a.json', anExport());
    folder.write('rows.sql', 'SELECT 1;');
    const outcome = await folder.migrate([file, ...outAndSql('out.json')]);
    expect(outcome.exitCode).toBe(1);
    expect(failures(outcome)).toMatchObject([{ code: 'OUTPUT_EXISTS' }]);
    expect(folder.files()).toEqual(['a.json', 'rows.sql']);
    expect((await folder.migrate([file, ...outAndSql('out.json'), '--overwrite'])).exitCode).toBe(0);
    expect(folder.read('rows.sql')).toContain('mistralai');
  });
});

describe('a dry run', () => {
  it('prints a diff and the SQL, and writes nothing', async () => {
    const file = folder.write('a.json', JSON.stringify(anExport()));
    const outcome = await folder.migrate([file, '--dry-run']);
    expect(outcome.exitCode).toBe(0);
    expect(outcome.stdout).toMatch(/^--- a\/a\.json\n\+\+\+ b\/a\.json\n@@ -\d+,\d+ \+\d+,\d+ @@\n/);
    expect(outcome.stdout).toMatch(/^-\s+"type": "@n8n\/n8n-nodes-langchain\.agent",$/m);
    expect(outcome.stdout).toMatch(/^\+\s+"type": "n8n-nodes-universal-ai-agent\.universalAiAgent",$/m);
    expect(outcome.stdout).toContain('INSERT INTO elo_agent_tiers');
    expect(outcome.stderr).toContain('1 migrated');
    expect(folder.files()).toEqual(['a.json']);
  });

  it('of several files says of each with agents what would be done, or why it is left', async () => {
    folder.write('in/a.json', anExport());
    folder.write('in/b.json', disabled(anExport('Disabled')));
    folder.write('in/c.json', aPlainExport());
    const { stderr } = await folder.migrate([folder.at('in'), '--dry-run']);
    expect(stderr).toMatch(/a\.json: Shop\n {2}New node: AI Agent\n[^]*To know or to do/);
    expect(stderr).toMatch(/b\.json: Disabled\n {2}Left as it is\.\n[^]*AI Agent \(disabled\): It is disabled/);
    expect(stderr).not.toContain('c.json');
    expect(stderr).toMatch(/^Dry run: nothing is written\./);
    expect(stderr).toContain('3 files: 1 migrated, 2 left, 0 failed.');
  });
});

it('leaves no half file when a signal ends it', async () => {
  for (let index = 0; index < 300; index++) folder.write(`in/${index}.json`, anExport(`Workflow ${index}`));
  const run = startCli(['migrate-workflow', folder.at('in'), ...outAndSql('out')]);
  while (!folder.files().includes('out/0.json') && run.process.exitCode === null) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  run.process.kill('SIGINT');
  const { exitCode } = await run.ended;
  expect([0, 1]).toContain(exitCode);
  const written = folder.files().filter((name) => name.startsWith('out/'));
  expect(written.filter((name) => !name.endsWith('.json'))).toEqual([]);
  for (const name of written) expect(nodeTypes(folder.read(name))).toContain(OURS);
  // Again, and it is all there.
  expect((await folder.migrate([folder.at('in'), ...outAndSql('out')])).exitCode).toBe(0);
  expect(folder.files().filter((name) => name.startsWith('out/'))).toHaveLength(300);
});
