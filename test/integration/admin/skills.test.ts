import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { addTenant, giveTool } from '../../support/servers/database';
import { type AgentFixture, failureOf, startAgentFixture } from '../../support/values/agent-fixture';
import { runCli } from '../../support/worlds/cli';

let fixture: AgentFixture;
let folder: string;
let tenantId: string;
beforeAll(async () => {
  [fixture, folder] = await Promise.all([startAgentFixture(), mkdtemp(path.join(tmpdir(), 'skills-'))]);
});
beforeEach(async () => {
  tenantId = await addTenant(fixture.database);
});
afterAll(() => Promise.all([fixture.close(), rm(folder, { recursive: true })]));

const skills = () => fixture.runtime.admin.skill;
const skill = (name: string, lines = '') => `---\nname: ${name}\ndescription: For ${name}.\n${lines}---\nDo it.\n`;

const cli = (words: readonly string[], input = '') =>
  runCli(words, { env: { DATABASE_URL: fixture.database.url }, input });

it('a skill is created, changed, listed and deleted, and its versions are counted', async () => {
  const created = await skills().create({ tenantId, content: skill('refunds', 'license: MIT\n') });
  expect(created).toMatchObject({
    ...{ name: 'refunds', scope: 'tenant', description: 'For refunds.', version: 1, is_active: true },
    ...{ content: skill('refunds', 'license: MIT\n'), files: {}, issues: [] },
  });
  expect((await failureOf(skills().create({ tenantId, content: skill('refunds') }))).code).toBe('SKILL_EXISTS');
  expect(await skills().set({ tenantId, content: skill('refunds'), files: { 'a/b.md': 'B' } })).toMatchObject({
    version: 2,
    files: { 'a/b.md': { text: 'B' } },
  });
  const off = await skills().update({ tenantId, name: 'refunds', isActive: false });
  expect(off).toMatchObject({ is_active: false, content: skill('refunds'), files: { 'a/b.md': { text: 'B' } } });
  expect(await skills().list({ tenantId })).toMatchObject({ skills: [{ name: 'refunds', version: 3 }] });
  expect(await skills().delete({ tenantId, name: 'refunds' })).toEqual({
    tenant_id: tenantId,
    name: 'refunds',
    deleted: true,
  });
  expect((await failureOf(skills().get({ tenantId, name: 'refunds' }))).code).toBe('SKILL_UNKNOWN');
  expect((await failureOf(skills().update({ tenantId, name: 'refunds', isActive: true }))).code).toBe('SKILL_UNKNOWN');
});

it.each([
  ['a text without front matter', { content: 'Do it.' }, 'SKILL_INVALID'],
  ['another name than its own', { content: skill('other'), name: 'refunds' }, 'SKILL_INVALID'],
  ['a NUL', { content: skill('a\0') }, 'ADMIN_INPUT_INVALID'],
  ['a file above its folder', { content: skill('a'), files: { '../x': '' } }, 'ADMIN_INPUT_INVALID'],
  ['an absolute path', { content: skill('a'), files: { '/etc/x': '' } }, 'ADMIN_INPUT_INVALID'],
  ['dots within a path', { content: skill('a'), files: { 'a/../../x': '' } }, 'ADMIN_INPUT_INVALID'],
  ['a backslash', { content: skill('a'), files: { 'a\\..\\x': '' } }, 'ADMIN_INPUT_INVALID'],
  ['a file and a folder of one name', { content: skill('a'), files: { a: '', 'a/b': '' } }, 'ADMIN_INPUT_INVALID'],
  ['no files at all', { content: skill('a'), files: null as never }, 'ADMIN_INPUT_INVALID'],
  ['a second SKILL.md', { content: skill('a'), files: { 'skill.MD': '' } }, 'ADMIN_INPUT_INVALID'],
  ['bytes that are none', { content: skill('a'), files: { x: { base64: '%' } } }, 'ADMIN_INPUT_INVALID'],
])('refuses %s, and changes nothing', async (_what, given, code) => {
  await skills().create({ tenantId, content: skill('refunds') });
  const write = 'name' in given ? skills().update({ tenantId, ...given }) : skills().set({ tenantId, ...given });
  expect((await failureOf(write)).code).toBe(code);
  expect(await skills().list({ tenantId })).toMatchObject({ skills: [{ name: 'refunds', version: 1 }] });
});

it('takes files of any name', async () => {
  const files = JSON.parse('{"__proto__": "a", "constructor": "b", "x/__proto__": "c"}') as Record<string, string>;
  const { files: kept } = await skills().set({ tenantId, content: skill('odd'), files });
  expect(Object.entries(kept).sort()).toEqual([
    ['__proto__', { text: 'a' }],
    ['constructor', { text: 'b' }],
    ['x/__proto__', { text: 'c' }],
  ]);
});

it('finds a name in either of its spellings', async () => {
  await skills().create({ tenantId, content: skill('cafe\u0301') });
  expect(await skills().get({ tenantId, name: 'cafe\u0301' })).toMatchObject({ name: 'caf\u00e9' });
  const agent = { tenantId, name: 'waiter', skills: ['cafe\u0301'] };
  expect(await fixture.runtime.admin.agent.create(agent)).toMatchObject({ skills: ['caf\u00e9'] });
});

it('keeps the skills of tenants apart', async () => {
  const other = await addTenant(fixture.database);
  await skills().create({ tenantId, content: skill('refunds') });
  expect((await failureOf(skills().get({ tenantId: other, name: 'refunds' }))).code).toBe('SKILL_UNKNOWN');
  expect((await skills().list({ tenantId: other })).skills).toEqual([]);
});

it('names the tools that there are not, and a model that nobody knows', async () => {
  await giveTool(fixture.database, tenantId, { code: 'find_orders', endpoint: 'https://example.com/' });
  const other = await addTenant(fixture.database);
  const lines = 'tools: [find_orders, echo, gone, "lost.*"]\nmodel: agentchat\n';
  const created = await skills().create({ tenantId, content: skill('refunds', lines) });
  const issues = [
    'unknown tools: gone, lost.*',
    'unknown model: "agentchat" is neither a tier nor a model with a price',
  ];
  expect(created.issues).toEqual(issues);
  expect(await skills().validate({ tenantId })).toMatchObject({ skills: [{ name: 'refunds', issues }] });
  await skills().create({ tenantId: other, content: skill('refunds', 'allowed-tools: find_orders\n') });
  expect((await skills().validate({ tenantId: other, name: 'refunds' })).skills).toEqual([
    { name: 'refunds', scope: 'tenant', issues: ['unknown tools: find_orders'] },
  ]);
  await skills().set({ tenantId, content: skill('refunds', 'model: pro\n') });
  expect((await skills().validate({ tenantId })).skills).toMatchObject([{ issues: [] }]);
  expect((await failureOf(skills().validate({ tenantId, name: 'gone' }))).code).toBe('SKILL_UNKNOWN');
});

const RAW = Buffer.from(
  '\uFEFF---\r\nname: raw\r\ndescription: "Für: alle"\r\nx-own:   1\r\n---\r\n\r\n# Titel \t\r\n\r\n',
);

it('the folder of a skill comes back byte for byte', async () => {
  const own = path.join(folder, 'in', 'raw');
  await mkdir(path.join(own, 'assets', 'deep'), { recursive: true });
  await mkdir(path.join(own, '.git'));
  const files = new Map([
    ['SKILL.md', RAW],
    ['assets/deep/logo.png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255])],
    ['notes.md', Buffer.from('\uFEFFa\r\nb')],
    ['nul.txt', Buffer.from('a\0b')],
  ]);
  for (const [name, bytes] of files) await writeFile(path.join(own, name), bytes);
  await writeFile(path.join(own, '.git', 'config'), 'not this');
  const second = path.join(folder, 'in', 'nested', 'plain');
  await mkdir(second, { recursive: true });
  await writeFile(path.join(second, 'skill.md'), skill('plain'));

  await symlink(own, path.join(folder, 'in', 'linked'));
  await mkdir(path.join(folder, 'in', '.hidden'));
  const imported = await cli(['skill', 'import', path.join(folder, 'in'), '--tenant', tenantId]);
  expect(imported).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(imported.stdout)).toEqual({
    skills: ['plain', 'raw'].map((name) => ({ name, version: 1, issues: [] })),
    failed: [],
    left_out: ['.hidden', 'linked', 'raw/.git'].map((name) => path.join(folder, 'in', name)),
  });
  const out = path.join(folder, 'out');
  const exported = await cli(['skill', 'export', 'raw', '--tenant', tenantId, '--folder', out]);
  expect(JSON.parse(exported.stdout)).toEqual({ folder: path.join(out, 'raw'), files: files.size });
  for (const [name, bytes] of files) expect(await readFile(path.join(out, 'raw', name))).toEqual(bytes);
  const printed = await cli(['skill', 'export', 'raw', '--tenant', tenantId]);
  // Whoever reads it here as text leaves the mark out.
  expect(Buffer.from(printed.stdout)).toEqual(RAW.subarray(3));
  const row = await skills().get({ tenantId, name: 'raw' });
  await skills().set({ tenantId, content: row.content, files: row.files });
  expect(await skills().get({ tenantId, name: 'raw' })).toMatchObject({ version: 1, files: row.files });
  await cp(path.join(own, 'SKILL.md'), path.join(folder, 'one.md'));
  const again = await cli(['skill', 'import', path.join(folder, 'one.md'), '--tenant', tenantId]);
  expect(JSON.parse(again.stdout)).toMatchObject({ skills: [{ name: 'raw', version: 1 }] });
});

it('an import that fails for one skill names its file, and writes the others', async () => {
  const mixed = path.join(folder, 'mixed');
  for (const [name, text] of [
    ['a', skill('good')],
    ['b', 'no front matter'],
    ['c', Buffer.from([0xff, 0xfe])],
  ] as const) {
    await mkdir(path.join(mixed, name), { recursive: true });
    await writeFile(path.join(mixed, name, 'SKILL.md'), text);
  }
  const { exitCode, stdout } = await cli(['skill', 'import', mixed, '--tenant', tenantId]);
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    skills: [{ name: 'good' }],
    failed: ['c', 'b'].map((name) => ({ path: path.join(mixed, name, 'SKILL.md'), code: 'SKILL_INVALID' })),
  });
});

it('an import writes neither of two skills with one name', async () => {
  const twins = path.join(folder, 'twins');
  for (const [name, own] of Object.entries({ a: 'twin', b: 'twin', c: 'single' })) {
    await mkdir(path.join(twins, name), { recursive: true });
    await writeFile(path.join(twins, name, 'SKILL.md'), skill(own));
  }
  const { exitCode, stdout } = await cli(['skill', 'import', twins, '--tenant', tenantId]);
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ skills: [{ name: 'single' }], failed: [{ code: 'SKILL_EXISTS' }, {}] });
  expect((await skills().list({ tenantId })).skills).toMatchObject([{ name: 'single' }]);
});

it('standard input is the text of a skill, to its last line end', async () => {
  const created = await cli(['skill', 'create', '--content', '-', '--tenant', tenantId], skill('piped'));
  expect(created).toMatchObject({ exitCode: 0 });
  expect(await skills().get({ tenantId, name: 'piped' })).toMatchObject({ content: skill('piped') });
  const good = await cli(['skill', 'validate', '--tenant', tenantId]);
  expect(good.exitCode).toBe(0);
  await cli(['skill', 'set', '--content', '-', '--tenant', tenantId], skill('piped', 'allowed-tools: gone\n'));
  expect(await cli(['skill', 'validate', '--tenant', tenantId])).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining('unknown tools: gone') as string,
  });
});

it.each([
  ['import without a path', ['import'], /needs PATH/],
  ['a folder without a skill', ['import', path.dirname(__filename)], /no SKILL.md/],
  ['a path that is not there', ['import', '/nowhere/SKILL.md'], /cannot be read/],
  ['a name that is not there', ['export', 'gone'], /SKILL_UNKNOWN/],
])('the command line refuses %s', async (_what, words, stderr) => {
  const refused = await cli(['skill', ...words, '--tenant', tenantId]);
  expect(refused.exitCode).not.toBe(0);
  expect(refused.stderr).toMatch(stderr);
});

it('a row with a path that leaves the folder is not written', async () => {
  await skills().create({ tenantId, content: skill('evil') });
  await fixture.database.query(
    `UPDATE elo_agent_skills SET files = '{"../../evil.txt": {"text": "x"}}' WHERE tenant_id = $1`,
    [tenantId],
  );
  const out = path.join(folder, 'evil', 'out');
  const exported = await cli(['skill', 'export', 'evil', '--tenant', tenantId, '--folder', out]);
  expect(exported).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('leaves its folder') as string });
  await expect(readFile(path.join(folder, 'evil', 'evil.txt'))).rejects.toThrow('ENOENT');
});
