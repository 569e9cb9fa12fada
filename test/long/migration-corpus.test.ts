import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { RuntimeError } from '../../runtime/errors/runtime-error';
import {
  ALLOWANCES,
  type ClusterReport,
  type Migration,
  type MigrationOptions,
  type MigrationReport,
} from '../../runtime/workflow-migration/contract';
import { migrateWorkflow } from '../../runtime/workflow-migration/migrate-workflow';
import { parseWorkflow } from '../../runtime/workflow-migration/parse-workflow';
import { fc } from '../support/values/properties';
import { workflowCorpus } from '../support/workflows/workflow-corpus';
import { MIGRATION_OPTIONS, WORKFLOW_FIXTURES } from '../support/workflows/workflow-fixtures';
import { findLosses } from '../support/workflows/workflow-links';
import { mutated, MUTATION_KINDS } from '../support/workflows/workflow-mutations';

const RUNS = 4000;
const EVERYTHING: MigrationOptions = { ...MIGRATION_OPTIONS, allow: ALLOWANCES };
const VARIANTS: readonly MigrationOptions[] = [
  MIGRATION_OPTIONS,
  EVERYTHING,
  { ...EVERYTHING, tools: 'connected' },
  { ...EVERYTHING, dropRouter: true },
  { ...EVERYTHING, v3: true },
  { ...MIGRATION_OPTIONS, each: true },
  { ...EVERYTHING, dropRouter: true, each: true },
];

/** What became of one input, in a word; throws for what must never be. */
function check(input: unknown, options: MigrationOptions): readonly string[] {
  const text = JSON.stringify(input);
  let migration: Migration;
  try {
    migration = migrateWorkflow(input, options);
  } catch (error) {
    if (error instanceof RuntimeError && error.code === 'WORKFLOW_INVALID') return ['not a workflow'];
    throw error;
  }
  expect(JSON.stringify(input)).toBe(text);
  const before = parseWorkflow(input);
  const { report } = migration;
  const agents = before.nodes.filter(({ type }) => type === '@n8n/n8n-nodes-langchain.agent').map(({ name }) => name);
  const gone = agentsOf(report.clusters);
  const left = report.left.map(({ node }) => node);
  expect(new Set([...gone, ...left])).toEqual(new Set(agents));
  expect(new Set(gone).size).toBe(gone.length);
  expect(report.left.filter(({ reason, text: why }) => reason === '' || why === '')).toEqual([]);
  if (options.each === true) checkEach(input, options, report);
  if (migration.kind === 'unchanged') return [...new Set(report.left.map(({ reason }) => reason)), 'unchanged'];
  expect(findLosses(before, migration.workflow, report)).toEqual([]);
  const again = migrateWorkflow(migration.workflow, options);
  expect(again.kind).toBe('unchanged');
  return [...new Set(report.left.map(({ reason }) => reason)), 'migrated'];
}

/** What becomes one node does so in the same way, and as many agents more are migrated as the report offers. */
function checkEach(input: unknown, options: MigrationOptions, { clusters }: MigrationReport): void {
  const whole = migrateWorkflow(input, { ...options, each: false }).report;
  const merged = ({ agents }: ClusterReport): boolean => agents.length > 1;
  const essence = ({ node, router, agents, tiers, tools }: ClusterReport) => ({ node, router, agents, tiers, tools });
  expect(clusters.filter(merged).map(essence)).toEqual(whole.clusters.filter(merged).map(essence));
  const offered = whole.notes.map(({ text }) => Number(/^--each migrates (\d+) of its/.exec(text)?.[1] ?? 0));
  expect(agentsOf(clusters)).toHaveLength(agentsOf(whole.clusters).length + offered.reduce((sum, one) => sum + one, 0));
}

const agentsOf = (clusters: readonly ClusterReport[]): readonly string[] => clusters.flatMap(({ agents }) => agents);

const choice = fc.nat({ max: 10_000 });
const mutation = fc.record({ kind: fc.constantFrom(...MUTATION_KINDS), choices: fc.tuple(choice, choice, choice) });

it(`migrates ${RUNS} broken workflows or says why it does not, and loses nothing`, () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.values(WORKFLOW_FIXTURES)),
      fc.array(mutation, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(...VARIANTS),
      ({ workflow }, mutations, options) => {
        check(mutated(workflow, mutations), options);
      },
    ),
    { numRuns: RUNS },
  );
  for (const made of [{}, structuredClone({})]) expect(Object.keys(Object.getPrototypeOf(made) as object)).toEqual([]);
});

const NAMES = [
  'nothing allowed',
  'everything allowed',
  'connected tools',
  'dropped routers',
  'n8n 3',
  'one by one',
  'one by one, everything allowed',
];

/** What became of every file of a folder, by option and word; throws with every file that went wrong. */
function checkFolder(folder: string): ReadonlyMap<string, number> {
  const files = filesIn(folder);
  const counts = new Map([['files', files.length]]);
  const cases = files.flatMap((file) =>
    VARIANTS.map((options, index) => ({ file, options, name: NAMES[index] ?? '' })),
  );
  const failures = cases.flatMap(({ file, options, name }) => {
    try {
      for (const word of check(readJson(file), options)) count(counts, `${name}: ${word}`);
      return [];
    } catch (error) {
      return [`${file} (${name}): ${String(error)}`];
    }
  });
  const lines = [...counts].sort(([a], [b]) => a.localeCompare(b)).map(([word, number]) => `${word} ${number}`);
  process.stdout.write(`${lines.join('\n')}\n`);
  expect(failures).toEqual([]);
  return counts;
}

it('migrates thousands of public workflows or says why it does not, and loses nothing', async () => {
  const counts = checkFolder(await workflowCorpus());
  expect(counts.get('files')).toBe(2352);
  expect(counts.get('nothing allowed: migrated')).toBeGreaterThan(800);
  expect(counts.get('one by one: migrated')).toBeGreaterThan(counts.get('nothing allowed: migrated') ?? 0);
});

const folder = process.env.WORKFLOW_CORPUS;
if (folder !== undefined) {
  it('migrates every file of the folder that WORKFLOW_CORPUS names or says why it does not', () => {
    checkFolder(folder);
  });
}

function count(counts: Map<string, number>, word: string): void {
  counts.set(word, (counts.get(word) ?? 0) + 1);
}

function filesIn(path: string): readonly string[] {
  if (statSync(path).isFile()) return path.endsWith('.json') ? [path] : [];
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesIn(join(path, name)));
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
