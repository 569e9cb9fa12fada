import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(__dirname, '../..');

type Planted = readonly [folder: string, source: string, rule: string];

/** The rules that each planted file breaks, by its name. One look at all of them: each look costs a second. */
function brokenRules(plants: readonly Planted[]): ReadonlyMap<string, readonly string[]> {
  const files = plants.map(([folder], index) => `${folder}/planted-${index}.ts`);
  try {
    files.forEach((file, index) => writeFileSync(path.join(ROOT, file), plants[index]?.[1] ?? ''));
    const program = path.join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
    const args = ['--config', '.dependency-cruiser.cjs', '--output-type', 'json', ...files];
    const output = execFileSync(process.execPath, [program, ...args], {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    const { summary } = JSON.parse(output) as { summary: { violations: { from: string; rule: { name: string } }[] } };
    const namesOf = (file: string) =>
      summary.violations.filter(({ from }) => from === file).map(({ rule }) => rule.name);
    return new Map(files.map((file) => [file, namesOf(file)]));
  } finally {
    for (const file of files) rmSync(path.join(ROOT, file), { force: true });
  }
}

const PLANTS: readonly Planted[] = [
  [
    'runtime/loop',
    "import { createPostgres } from '../storage/postgres/pool';\nexport default createPostgres;\n",
    'loop-is-pure',
  ],
  ['runtime/loop', "import * as z from 'zod/v4';\nexport default z;\n", 'loop-needs-no-package'],
  [
    'runtime/tools',
    "import { selectModel } from '../models/select-model';\nexport default selectModel;\n",
    'parts-are-strangers',
  ],
  ['runtime/billing', "import { claimRun } from '../ledger/claim';\nexport default claimRun;\n", 'parts-are-strangers'],
  [
    'runtime/contracts',
    "import { readTask } from '../tasks/read-task';\nexport default readTask;\n",
    'contracts-are-types',
  ],
  ['runtime/errors', "import { newId } from '../util/clock';\nexport default newId;\n", 'errors-are-leaves'],
  ['runtime/util', "import { TASK_TYPES } from '../contracts/queue';\nexport default TASK_TYPES;\n", 'util-is-generic'],
  [
    'runtime/storage',
    "import { readTask } from '../tasks/read-task';\nexport default readTask;\n",
    'storage-knows-no-part',
  ],
  [
    'runtime/ledger',
    "import { createPostgres } from '../storage/postgres/pool';\nexport default createPostgres;\n",
    'ledger-knows-money',
  ],
  [
    'runtime/toolsets',
    "import { selectModel } from '../models/select-model';\nexport default selectModel;\n",
    'toolsets-join-tools',
  ],
  [
    'runtime/tasks',
    "import { selectModel } from '../models/select-model';\nexport default selectModel;\n",
    'tasks-know-no-part',
  ],
  [
    'runtime/run',
    "import { createPostgres } from '../storage/postgres/pool';\nexport default createPostgres;\n",
    'a-run-touches-no-storage',
  ],
  [
    'runtime/admin',
    "import { planRun } from '../run/plan/plan-run';\nexport default planRun;\n",
    'nothing-but-the-agent-runs',
  ],
  [
    'runtime/admin',
    "import { createRuntime } from '../compose/create-runtime';\nexport default createRuntime;\n",
    'compose-is-for-doors',
  ],
  ['runtime/util', "import './planted-14';\n", 'no-cycles'],
  ['runtime/util', "import './nowhere';\n", 'resolvable'],
  ['runtime/util', "import '../../scripts/lib/ports.mjs';\n", 'not-to-tests'],
  ['runtime/billing', "import { Pool } from 'pg';\nexport default Pool;\n", 'pg-has-a-home'],
  [
    'runtime/mcp',
    "import { Client } from '@modelcontextprotocol/client';\nexport default Client;\n",
    'the-mcp-sdk-has-a-home',
  ],
  [
    'runtime/tenants',
    "import { NodeOperationError } from 'n8n-workflow';\nexport default NodeOperationError;\n",
    'runtime-knows-no-n8n',
  ],
  [
    'nodes/UniversalAiAgent',
    "import { runAgent } from '../../runtime/agent';\nexport default runAgent;\n",
    'nodes-use-the-front-door',
  ],
  [
    'nodes/UniversalAiAgentAdmin',
    "import { getTiers } from '../UniversalAiAgent/panel/pickers';\nexport default getTiers;\n",
    'nodes-are-strangers',
  ],
  ['runtime/admin', "import { claimRun } from '../ledger/claim';\nexport default claimRun;\n", 'admin-knows-no-run'],
  [
    'runtime/cli',
    "import { combinePermissions } from '../permissions/combine-permissions';\nexport default combinePermissions;\n",
    'the-command-line-holds-no-decision',
  ],
  [
    'runtime/testing',
    "import { createPostgres } from '../storage/postgres/pool';\nexport default createPostgres;\n",
    'testing-stands-in-for-ports',
  ],
];

describe('the import rules', () => {
  let broken: ReadonlyMap<string, readonly string[]>;
  beforeAll(() => {
    broken = brokenRules(PLANTS);
  });

  it.each(PLANTS.map(([folder, , rule], index) => [rule, folder, index] as const))(
    '%s catches a file planted in %s',
    (rule, folder, index) => {
      expect(broken.get(`${folder}/planted-${index}.ts`)).toContain(rule);
    },
  );
});

it('no source file switches a lint rule or a type check off', () => {
  const files = ['runtime', 'nodes', 'credentials'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => path.join(ROOT, folder, name)),
  );
  expect(files.length).toBeGreaterThan(80);
  const offenders = files.filter((file) =>
    /eslint-disable|@ts-(ignore|expect-error|nocheck)/.test(readFileSync(file, 'utf8')),
  );
  expect(offenders).toEqual([]);
});
