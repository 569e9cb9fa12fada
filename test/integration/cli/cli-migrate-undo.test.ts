import {
  anExport,
  aPlainExport,
  failures,
  makeMigrationFolder,
  type MigrationFolder,
  nodeTypes,
} from '../../support/workflows/migration-folder';
import { attach, chain, node, workflow } from '../../support/workflows/workflow-builder';
import { agent, openRouter, prompts } from '../../support/workflows/workflow-parts';
import type { CliOutcome } from '../../support/worlds/cli';

const OURS = 'universalAiAgent';

let folder: MigrationFolder;
/** As the files were: a byte order mark, other spaces, keys in an order of their own. */
let originals: Record<string, string>;

beforeEach(() => {
  folder = makeMigrationFolder();
  originals = {
    'wf/a.json': `\uFEFF${JSON.stringify(anExport('A'), null, 3)}\r\n`,
    'wf/deep/b.json': JSON.stringify(anExport('Ünï ☃')),
    'wf/plain.json': JSON.stringify(aPlainExport()),
  };
  for (const [name, content] of Object.entries(originals)) folder.write(name, content);
});
afterEach(() => folder.remove());

const inPlace = (...more: string[]): Promise<CliOutcome> =>
  folder.migrate([
    folder.at('wf'),
    ...['-o', folder.at('wf'), '--sql', folder.at('rows.sql'), '--report', folder.at('report.json')],
    ...more,
  ]);
const undo = (...more: string[]): Promise<CliOutcome> =>
  folder.migrate(['--undo', folder.at('report.json'), '-o', folder.at('wf'), ...more]);
const contents = (): unknown => folder.files().map((name) => [name, folder.read(name)]);

it('writes a JSON report with the originals, and a Markdown one beside it', async () => {
  await inPlace('--overwrite');
  expect(folder.files()).toEqual(['report.json', 'report.md', 'rows.sql', ...Object.keys(originals)]);
  const report = JSON.parse(folder.read('report.json')) as { files: { path: string }[] };
  expect(report.files).toMatchObject([
    {
      status: 'migrated',
      path: 'a.json',
      reports: [{ version: 1, workflow: 'A', clusters: [{ agents: ['AI Agent'] }] }],
      original: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string, text: originals['wf/a.json'] },
      migrated: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
    },
    { status: 'migrated', path: 'deep/b.json' },
    { status: 'left', path: 'plain.json' },
  ]);
  expect(folder.read('report.md')).toMatch(/^# Migrated workflows\n\n2 of 3 workflows were migrated\.\n/);
});

it('restores every original byte for byte, and says so the second time', async () => {
  await inPlace('--overwrite');
  expect(nodeTypes(folder.read('wf/a.json'))).toContain(OURS);
  expect(await undo()).toMatchObject({
    exitCode: 0,
    stdout: '2 files: 2 restored, 0 were so already, 0 failed.\n',
    stderr: '',
  });
  for (const [name, content] of Object.entries(originals)) expect(folder.read(name)).toBe(content);
  expect(await undo()).toMatchObject({ exitCode: 0, stdout: '2 files: 0 restored, 2 were so already, 0 failed.\n' });
});

it('restores into another folder, to standard output, and to a file of another name', async () => {
  await inPlace('--overwrite');
  await folder.migrate(['--undo', folder.at('report.json'), '-o', folder.at('old')]);
  expect(folder.read('old/deep/b.json')).toBe(originals['wf/deep/b.json']);
  const [file, report] = [folder.at('wf/deep/b.json'), folder.at('one.json')];
  await folder.migrate(['--undo', folder.at('report.json'), '-o', folder.at('wf')]);
  await folder.migrate([file, '-o', folder.at('x.json'), '--sql', folder.at('x.sql'), '--report', report]);
  const printed = await folder.migrate(['--undo', report, '-o', '-']);
  expect(printed.stdout).toBe(originals['wf/deep/b.json']);
  expect((await folder.migrate(['--undo', report, '-o', folder.at('x.json')])).exitCode).toBe(0);
  expect(folder.read('x.json')).toBe(originals['wf/deep/b.json']);
});

it('refuses a file that was changed since, unless it may be overwritten, and restores the others', async () => {
  await inPlace('--overwrite');
  folder.write('wf/a.json', 'my own work');
  const outcome = await undo();
  expect(outcome).toMatchObject({ exitCode: 1, stdout: '2 files: 1 restored, 0 were so already, 1 failed.\n' });
  expect(failures(outcome)).toMatchObject([{ file: folder.at('wf/a.json'), code: 'UNDO_REFUSED' }]);
  expect(folder.read('wf/a.json')).toBe('my own work');
  expect((await undo('--overwrite')).exitCode).toBe(0);
  expect(folder.read('wf/a.json')).toBe(originals['wf/a.json']);
});

it('overwrites no workflow without being told to, and none without a report', async () => {
  const before = contents();
  const refused = await inPlace();
  expect(failures(refused).map(({ code }) => code)).toEqual(['OUTPUT_EXISTS', 'OUTPUT_EXISTS']);
  const words = [folder.at('wf'), '-o', folder.at('wf'), '--sql', folder.at('rows.sql'), '--overwrite'];
  const unreported = await folder.migrate(words);
  expect(unreported.exitCode).toBe(2);
  expect(unreported.stderr).toContain('give --report FILE too');
  for (const [name, content] of Object.entries(originals)) expect(folder.read(name)).toBe(content);
  expect(before).toHaveLength(3);
});

it('keeps the originals, the rows and the report when it is run again in place', async () => {
  await inPlace('--overwrite');
  const before = contents();
  expect((await inPlace('--overwrite')).exitCode).toBe(0);
  expect(contents()).toEqual(before);
  folder.write('wf/later.json', anExport('Later'));
  expect((await inPlace('--overwrite')).exitCode).toBe(0);
  expect(folder.read('rows.sql')).toMatch(/-- a\.json[^]*-- deep\/b\.json[^]*-- later\.json/);
  await undo();
  for (const [name, content] of Object.entries(originals)) expect(folder.read(name)).toBe(content);
  expect(folder.read('wf/later.json')).toBe(JSON.stringify(anExport('Later'), null, 2));
});

it('keeps the first original and all rows of a file of which more is migrated later', async () => {
  const { parts, wires } = withOldAgent();
  const original = folder.write('wf/a.json', workflow('A', { parts, wires })) && folder.read('wf/a.json');
  await inPlace('--overwrite');
  const tiers = (): string[] =>
    [...folder.read('wf/a.json').matchAll(/"tier": "([^"]+)"/g)].map(([, tier = '']) => tier);
  expect(tiers()).toHaveLength(1);
  expect((await inPlace('--overwrite', '--allow', 'agent-kind')).exitCode).toBe(0);
  expect(tiers()).toHaveLength(2);
  for (const tier of tiers()) expect(folder.read('rows.sql')).toContain(`'${tier}'`);
  const before = contents();
  await inPlace('--overwrite', '--allow', 'agent-kind');
  expect(contents()).toEqual(before);
  await undo();
  expect(folder.read('wf/a.json')).toBe(original);
});

/** One agent that is migrated, and behind it one that has to be allowed. */
function withOldAgent(): Parameters<typeof workflow>[1] {
  return {
    parts: [
      node('Start', 'base.manualTrigger@1'),
      agent('AI Agent', '3.1', prompts('={{ $json.message }}', 'Be brief.')),
      openRouter('Model', 'mistralai/a'),
      agent('Old', '1', { agent: 'conversationalAgent', text: '={{ $json.q }}' }),
      openRouter('Old model', 'mistralai/b'),
    ],
    wires: [
      ...chain('Start', 'AI Agent', 'Old'),
      ...attach('Model', 'ai_languageModel', ['AI Agent']),
      ...attach('Old model', 'ai_languageModel', ['Old']),
    ],
  };
}

it.each([
  ['is not there', undefined, 'no such file'],
  ['is not JSON', '{', 'JSON'],
  ['is something else', '{"version": 2}', 'version and files'],
  ['leads out of OUT', JSON.stringify({ version: 1, files: [entry('../a.json')] }), 'its entry 1'],
  ['leads to the root', JSON.stringify({ version: 1, files: [entry('/etc/a.json')] }), 'its entry 1'],
  [
    'was changed',
    JSON.stringify({ version: 1, files: [{ ...entry('a.json'), original: { sha256: 'x', text: 'y' } }] }),
    'its entry 1',
  ],
])('refuses a report that %s', async (_what, content, reason) => {
  if (content !== undefined) folder.write('report.json', content);
  const before = contents();
  const outcome = await undo();
  expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
  expect(failures(outcome)).toMatchObject([
    { code: 'REPORT_INVALID', message: expect.stringContaining(reason) as string },
  ]);
  expect(contents()).toEqual(before);
});

function entry(path: string): object {
  const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
  return { status: 'migrated', path, reports: [], sql: '', original: { sha256, text: 'abc' }, migrated: { sha256 } };
}
