import { chmodSync } from 'node:fs';

import { containing } from '../../support/setup/matchers';
import {
  anExport,
  aPlainExport,
  failures,
  makeMigrationFolder,
  type MigrationFolder,
} from '../../support/workflows/migration-folder';
import { node } from '../../support/workflows/workflow-builder';
import { startCli } from '../../support/worlds/cli';

let folder: MigrationFolder;

beforeEach(() => {
  folder = makeMigrationFolder();
});
afterEach(() => folder.remove());

const outAndSql = (): string[] => ['-o', folder.at('out'), '--sql', folder.at('rows.sql')];

const withNode = (node: unknown): object => ({ ...aPlainExport(), nodes: [...aPlainExport().nodes, node] });
const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

it('tells what is wrong with each file, and does the others', async () => {
  const bad: Record<string, [content: unknown, code: string, message: string]> = {
    'not-json.json': ['{"nodes": [', 'WORKFLOW_UNREADABLE', 'not valid JSON'],
    'empty.json': ['', 'WORKFLOW_UNREADABLE', 'it is empty'],
    'blank.json': [' \n', 'WORKFLOW_UNREADABLE', 'it is empty'],
    'binary.json': [Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe]), 'WORKFLOW_UNREADABLE', 'not UTF-8'],
    'deep.json': [deep(100_000), 'WORKFLOW_UNREADABLE', 'nested deeper than'],
    'no-workflow.json': [{ hello: 'world' }, 'WORKFLOW_INVALID', 'no list of nodes'],
    'number.json': ['42', 'WORKFLOW_INVALID', 'not an object'],
    'no-list.json': ['[]', 'WORKFLOW_INVALID', 'list of 0'],
    'nameless.json': [withNode({ type: 'n8n-nodes-base.noOp' }), 'WORKFLOW_INVALID', 'has no name'],
    'twice.json': [withNode({ name: 'Start', type: 'n8n-nodes-base.noOp' }), 'WORKFLOW_INVALID', 'two nodes'],
    'links.json': [{ ...aPlainExport(), connections: { Start: [1] } }, 'WORKFLOW_INVALID', 'connections'],
  };
  for (const [name, [content]] of Object.entries(bad)) folder.write(`in/${name}`, content);
  folder.write('in/good.json', anExport());
  const outcome = await folder.migrate([folder.at('in'), ...outAndSql()]);
  expect(outcome.exitCode).toBe(1);
  expect(outcome.stdout).toContain(`12 files: 1 migrated, 0 left, ${Object.keys(bad).length} failed.`);
  const told = failures(outcome);
  expect(told).toHaveLength(Object.keys(bad).length);
  for (const [name, [, code, message]] of Object.entries(bad)) {
    const line = told.find(({ file }) => file === folder.at(`in/${name}`));
    expect(line).toMatchObject({ code, message: expect.stringContaining(message) as string });
    expect(line?.hint).not.toBe('');
  }
  expect(folder.files().filter((name) => name.startsWith('out/'))).toEqual(['out/good.json']);
});

it('takes what is odd, and is still a workflow', async () => {
  const loop = { ...aPlainExport(), connections: { Wait: { main: [[{ node: 'Start', type: 'main', index: 0 }]] } } };
  const odd: Record<string, unknown> = {
    'cycle.json': loop,
    'agent-in-a-cycle.json': {
      ...anExport(),
      connections: { ...anExport().connections, Answer: { main: [[{ node: 'AI Agent', type: 'main', index: 0 }]] } },
    },
    'missing-node.json': {
      ...anExport(),
      connections: { ...anExport().connections, Gone: { main: [[{ node: 'Nowhere', type: 'main', index: 0 }]] } },
    },
    'names-only.json': {
      ...anExport(),
      nodes: anExport().nodes.map((node) =>
        node.credentials === undefined ? node : { ...node, credentials: { openRouterApi: { name: 'OpenRouter' } } },
      ),
    },
    'many.json': { name: 'Many', nodes: manyNodes(), connections: {} },
  };
  for (const [name, content] of Object.entries(odd)) folder.write(`in/${name}`, content);
  const outcome = await folder.migrate([folder.at('in'), ...outAndSql()]);
  expect(outcome.exitCode).toBe(0);
  expect(folder.files().filter((name) => name.startsWith('out/'))).toHaveLength(Object.keys(odd).length);
  expect(folder.read('out/many.json')).toBe(folder.read('in/many.json'));
  expect(folder.read('out/cycle.json')).toBe(folder.read('in/cycle.json'));
});

/** Five megabytes of them. */
function manyNodes(): readonly object[] {
  return Array.from({ length: 5000 }, (_, index) => ({
    name: `Node ${index}`,
    type: 'n8n-nodes-base.set',
    typeVersion: 3.4,
    position: [index, 0],
    parameters: { text: 'x'.repeat(1000) },
  }));
}

it('refuses a file that no workflow is as large as', async () => {
  const file = folder.write('large.json', Buffer.alloc(64 * 1024 * 1024 + 1, 0x20));
  const outcome = await folder.migrate([file, ...outAndSql()]);
  expect(outcome.exitCode).toBe(1);
  expect(failures(outcome)).toMatchObject([
    { code: 'WORKFLOW_UNREADABLE', message: expect.stringContaining('67108864 is the limit') as string },
  ]);
});

it('tells of what is not there, and of a folder without a workflow', async () => {
  folder.write('empty/readme.txt', 'nothing here');
  const file = folder.write('a.json', anExport());
  const outcome = await folder.migrate([folder.at('gone.json'), folder.at('empty'), file, ...outAndSql()]);
  expect(outcome.exitCode).toBe(1);
  expect(failures(outcome)).toMatchObject([
    { file: folder.at('gone.json'), message: expect.stringContaining('no such file') as string },
    { file: folder.at('empty'), message: expect.stringContaining('no .json file') as string },
  ]);
  expect(folder.files()).toContain('out/a.json');
});

it('tells of a place that cannot be written, and leaves nothing there', async () => {
  const file = folder.write('a.json', anExport());
  folder.write('blocked', 'a file where a folder should be');
  const outcome = await folder.migrate([file, '-o', folder.at('blocked/out.json'), '--sql', folder.at('rows.sql')]);
  expect(outcome.exitCode).toBe(1);
  expect(failures(outcome)).toMatchObject([{ file, code: 'OUTPUT_FAILED' }]);
  expect(folder.files()).toEqual(['a.json', 'blocked']);
});

it('tells of a file that may not be read', async () => {
  const file = folder.write('a.json', anExport());
  chmodSync(file, 0o000);
  const outcome = await folder.migrate([file, folder.at('missing'), ...outAndSql()]);
  // Root may read everything.
  const unreadable = process.getuid?.() === 0 ? [] : [file];
  expect(failures(outcome).map((failure) => failure.file)).toEqual([folder.at('missing'), ...unreadable]);
});

it.each([
  ['no IN', [], 'needs IN'],
  ['no OUT', ['a.json', '--sql', 'rows.sql'], 'needs -o OUT'],
  ['no SQL file', ['a.json', '-o', 'out.json'], 'needs --sql FILE'],
  ['a report that is no .json', ['a.json', '-o', 'out.json', '--sql', 'rows.sql', '--report', 'r.md'], '.json'],
  ['an unknown way of tools', ['a.json', '--dry-run', '--tools', 'all'], 'database or connected'],
  ['an unknown allowance', ['a.json', '--dry-run', '--allow', 'everything'], 'agent-kind, merged-runs'],
  ['a credential without an id', ['a.json', '--dry-run', '--postgres-credential', ':Name'], 'ID or ID:NAME'],
  ['an address that is none', ['all', '--n8n-url', 'n8n', '--sql', 'rows.sql'], '--n8n-url'],
  ['no API key', ['all', '--n8n-url', 'http://n8n.test', '--sql', 'rows.sql'], 'N8N_API_KEY'],
  ['OUT for an n8n', ['all', '--n8n-url', 'http://n8n.test', '--n8n-api-key', 'k', '-o', 'x'], 'leave -o out'],
  ['--undo without OUT', ['--undo', 'report.json'], 'needs -o OUT'],
])('is wrong use with %s', async (_what, args, text) => {
  const outcome = await folder.migrate(args);
  expect(outcome).toMatchObject({ exitCode: 2, stdout: '' });
  expect(outcome.stderr).toContain(text);
});

it('refuses a tenant that is neither an id nor an expression', async () => {
  const outcome = await folder.migrate(['a.json', '--dry-run', '--tenant', 'shop']);
  expect(failures(outcome)).toMatchObject([{ code: 'TENANT_ID_INVALID' }]);
});

it('shows nothing that a terminal would obey, whatever names and texts hold', async () => {
  const evil = '\u001b]0;x\u0007\u009b31m\u202e';
  folder.write('in/a.json', toolExport(evil, `Tool ${evil}`));
  folder.write(`in/b${evil}.json`, '{');
  folder.write(`in/c${evil}.json`, anExport(`Shop ${evil}`));
  const dry = await folder.migrate([folder.at('in'), '--dry-run']);
  const one = await folder.migrate([folder.at('in/a.json'), ...outAndSql(), '--report', folder.at('report.json')]);
  const shown = [dry.stdout, dry.stderr, one.stdout, one.stderr, folder.read('rows.sql'), folder.read('report.md')];
  expect(dry.stdout).toContain('u009b31m');
  expect(one.exitCode).toBe(0);
  for (const text of shown) {
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  }
});

/** One with a tool whose description becomes a text of the SQL file. */
function toolExport(text: string, called = 'Tool'): object {
  const tool = node(called, 'base.httpRequestTool@4.2', {
    toolDescription: `Finds ${text}`,
    url: 'https://shop.example.com/orders',
  });
  const { nodes, connections, ...rest } = anExport();
  return {
    ...rest,
    nodes: [...nodes, { ...tool, id: 'tool', position: [0, 0] }],
    connections: { ...connections, [tool.name]: { ai_tool: [[{ node: 'AI Agent', type: 'ai_tool', index: 0 }]] } },
  };
}

it('refuses what is piped in without an end', async () => {
  const { process: child, ended } = startCli(['migrate-workflow', '-', '-o', '-', '--sql', folder.at('rows.sql')], {
    keepsInput: true,
  });
  const chunk = Buffer.alloc(1024 * 1024, '[');
  const more = (): void => void child.stdin?.write(chunk, (error) => error ?? more());
  more();
  expect(failures(await ended)).toMatchObject([{ code: 'WORKFLOW_UNREADABLE', message: containing('is the limit') }]);
});

it('takes a text of many megabytes, and does the others', async () => {
  folder.write('in/big.json', toolExport('x'.repeat(30_000_000)));
  folder.write('in/good.json', anExport());
  const outcome = await folder.migrate([folder.at('in'), ...outAndSql()]);
  expect(failures(outcome)).toEqual([]);
  expect(outcome.stdout).toContain('2 files: 2 migrated');
});
