import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(__dirname, '../..');

/** The names of the import rules that the tree breaks, with one more file in it. */
function brokenRules(file: string, source: string): string[] {
  const planted = path.join(ROOT, file);
  writeFileSync(planted, source);
  try {
    const program = path.join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
    const args = ['--config', '.dependency-cruiser.cjs', '--output-type', 'json', file];
    const output = execFileSync(process.execPath, [program, ...args], {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    const { summary } = JSON.parse(output) as { summary: { violations: { rule: { name: string } }[] } };
    return summary.violations.map(({ rule }) => rule.name);
  } finally {
    rmSync(planted);
  }
}

it.each([
  [
    'runtime/loop/planted.ts',
    "import { createPostgres } from '../storage/postgres';\nexport default createPostgres;\n",
    'loop-is-pure',
  ],
  [
    'runtime/tools/planted.ts',
    "import { selectModel } from '../models/select-model';\nexport default selectModel;\n",
    'parts-are-strangers',
  ],
  ['runtime/billing/planted.ts', "import { Pool } from 'pg';\nexport default Pool;\n", 'pg-has-a-home'],
  [
    'runtime/tenants/planted.ts',
    "import { NodeOperationError } from 'n8n-workflow';\nexport default NodeOperationError;\n",
    'runtime-knows-no-n8n',
  ],
  [
    'nodes/UniversalAiAgent/planted.ts',
    "import { runAgent } from '../../runtime/agent';\nexport default runAgent;\n",
    'nodes-use-the-front-door',
  ],
])(
  'the import rules catch a planted %s',
  (file, source, rule) => {
    expect(brokenRules(file, source)).toContain(rule);
  },
  60_000,
);

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
