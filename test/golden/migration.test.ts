import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import type { Migration, Workflow } from '../../runtime/workflow-migration/contract';
import { migrateWorkflow } from '../../runtime/workflow-migration/migrate-workflow';
import { optionsOf, WORKFLOW_FIXTURES } from '../support/workflows/workflow-fixtures';
import { findLosses } from '../support/workflows/workflow-links';

const INPUTS = join(__dirname, '../fixtures/workflows');
const OUTPUTS = join(__dirname, 'migration');
/** With UPDATE_GOLDEN=1 the files are written anew, to be looked at. */
const isUpdate = process.env.UPDATE_GOLDEN === '1';

const cases = Object.entries(WORKFLOW_FIXTURES);

function migrated(name: string): Extract<Migration, { kind: 'migrated' }> {
  const fixture = WORKFLOW_FIXTURES[name];
  if (fixture === undefined) throw new Error(`no fixture ${name}`);
  const result = migrateWorkflow(read(INPUTS, `${name}.json`), optionsOf(fixture));
  if (result.kind === 'unchanged') throw new Error(`${name} was left: ${JSON.stringify(result.report.left)}`);
  return result;
}

const read = (folder: string, file: string): Workflow =>
  JSON.parse(readFileSync(join(folder, file), 'utf8')) as Workflow;
const toText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** The committed text, or the given one after it was written. */
function golden(folder: string, file: string, actual: string): string {
  const path = join(folder, file);
  if (isUpdate) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, actual);
  }
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

describe.each(cases)('%s', (name, fixture) => {
  it('is in its file as it is described', () => {
    expect(golden(INPUTS, `${name}.json`, toText(fixture.workflow))).toBe(toText(fixture.workflow));
  });
});

describe.each(cases.filter(([, { isLeft }]) => isLeft !== true))('%s', (name, fixture) => {
  it('becomes the committed workflow, SQL and report', () => {
    const { workflow, sql, report } = migrated(name);
    const text = toText({ workflow, report });
    expect(golden(OUTPUTS, `${name}.json`, text)).toBe(text);
    expect(golden(OUTPUTS, `${name}.sql`, sql)).toBe(sql);
  });

  it('loses nothing, and has no agent left', () => {
    const { workflow, report } = migrated(name);
    expect(findLosses(fixture.workflow, workflow, report)).toEqual([]);
    expect(workflow.nodes.filter(({ type }) => type.endsWith('langchain.agent'))).toEqual([]);
  });

  it('is left alone the second time', () => {
    const again = migrateWorkflow(migrated(name).workflow, optionsOf(fixture));
    expect(again.kind).toBe('unchanged');
  });

  it('is another thing without the changes that it allows', () => {
    const allow = fixture.allow ?? [];
    const plain = migrateWorkflow(fixture.workflow, { ...optionsOf(fixture), allow: [] });
    const asked = plain.report.left.flatMap(({ allowance }) => allowance ?? []);
    expect(new Set(asked).difference(new Set(allow))).toEqual(new Set());
    expect(isDeepStrictEqual(plain, migrated(name))).toBe(allow.length === 0);
  });
});

describe.each(cases.filter(([, { isLeft }]) => isLeft === true))('%s', (_name, fixture) => {
  it('is left as it is, and each agent has a reason', () => {
    const result = migrateWorkflow(fixture.workflow, optionsOf(fixture));
    const agents = fixture.workflow.nodes.filter(({ type }) => type.endsWith('langchain.agent'));
    expect(result.kind).toBe('unchanged');
    expect(new Set(result.report.left.map(({ node }) => node))).toEqual(new Set(agents.map(({ name }) => name)));
  });
});

it('has no file that no fixture stands for', () => {
  const names = new Set(cases.map(([name]) => name));
  const files = [...readdirSync(INPUTS), ...readdirSync(OUTPUTS)].map((file) => file.replace(/\.(json|sql)$/, ''));
  expect(files.filter((file) => !names.has(file))).toEqual([]);
});
