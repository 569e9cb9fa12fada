import { readFileSync } from 'node:fs';
import path from 'node:path';

import ts from 'typescript';

const ROOT = path.resolve(__dirname, '../..');
const FILES = ts.sys
  .readDirectory(path.join(ROOT, 'runtime'), ['.ts'])
  .concat(ts.sys.readDirectory(path.join(ROOT, 'nodes'), ['.ts']))
  .map((file) => path.relative(ROOT, file))
  // The test of the import rules plants files meanwhile.
  .filter((file) => !path.basename(file).startsWith('planted-'));
const sources = FILES.map((file) =>
  ts.createSourceFile(file, readFileSync(path.join(ROOT, file), 'utf8'), ts.ScriptTarget.Latest, true),
);

/** The types that a file declares at its top. */
function typesOf(source: ts.SourceFile): readonly (ts.InterfaceDeclaration | ts.TypeAliasDeclaration)[] {
  return source.statements.filter((one) => ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one));
}

const isExported = (node: ts.InterfaceDeclaration | ts.TypeAliasDeclaration): boolean =>
  node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
const ofRuntime = ({ fileName }: ts.SourceFile): boolean => fileName.startsWith('runtime/');

it('the run can be read on one page', () => {
  const lines = readFileSync(path.join(ROOT, 'runtime/agent.ts'), 'utf8').trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(70);
});

it('few files lie loose: at most 5 in the runtime itself, at most 15 in any folder', () => {
  const counts = new Map<string, number>();
  for (const file of FILES) counts.set(path.dirname(file), (counts.get(path.dirname(file)) ?? 0) + 1);
  const crowded = [...counts].filter(([folder, count]) => count > (folder === 'runtime' ? 5 : 15));
  expect(crowded).toEqual([]);
});

/** Shapes on the wire: rows, keys of Redis, options of a command, the resources of administration. */
const ON_THE_WIRE = [
  'Admin',
  'AgentDetails',
  'CatalogueEntry',
  'DeadEntry',
  'MigrateOptions',
  'QueueKeys',
  'RunEntry',
  'ServerEntry',
  'SnapshotColumns',
  'TaskRow',
  'TierEntry',
  'ToolChange',
];

it('an interface outside the contracts has at most 9 members', () => {
  const large = sources
    .filter(({ fileName }) => !/\/contracts?(\/|\.ts$)|\/config\//.test(fileName))
    .flatMap((source) =>
      typesOf(source)
        .filter(ts.isInterfaceDeclaration)
        .filter(({ name, members }) => members.length > 9 && !ON_THE_WIRE.includes(name.text))
        .map(({ name, members }) => `${name.text} ${members.length}`),
    );
  expect(large).toEqual([]);
});

it('no two exported types have one name', () => {
  const names = sources.flatMap((source) =>
    typesOf(source)
      .filter(isExported)
      .map(({ name }) => name.text),
  );
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

/** Twelve are wanted. */
const MAX_BAGS = 31;

it('few exported types are bags, whose names end in Parts, Request, Options or Context', () => {
  const bags = sources
    .filter(ofRuntime)
    .flatMap((source) =>
      typesOf(source)
        .filter(isExported)
        .map(({ name }) => name.text),
    )
    .filter((name) => /(Parts|Request|Options|Context)$/.test(name));
  expect(bags.length).toBeLessThanOrEqual(MAX_BAGS);
});

// The first sentence of a doc comment is an entry of an index.
it('no doc comment begins with a preposition', () => {
  const found = sources.flatMap(({ text, fileName }) =>
    [...text.matchAll(/\/\*\*\s*(?:\n\s*\*\s*)?(Of|By|For|As|To|In|With|From|On|At|Without|Within|Among) [^\n]*/g)].map(
      ([comment]) => `${fileName}: ${comment.replace(/\s+/g, ' ').slice(0, 90)}`,
    ),
  );
  expect(found).toEqual([]);
});
