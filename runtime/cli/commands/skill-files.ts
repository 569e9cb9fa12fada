import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

import type { SkillFile } from '../../contracts/tools/skill';
import { toRuntimeError } from '../../errors/to-runtime-error';
import { escapeHidden } from '../../util/text/escape-hidden';
import { decodeUtf8, UsageError } from '../arguments';
import { command, FLAG, TENANT, text } from '../command';
import { withToolRuntime } from '../environment';
import { printJson } from '../output';
import { terminal } from '../terminal';

const SCOPE = { tenant: TENANT, shared: FLAG } as const;
/** Deeper folders are not looked into. */
const MAX_DEPTH = 6;

/** No operations: they read and write files of this machine. */
export const skillFileCommands = [
  command({
    words: 'skill import',
    names: ['PATH...'],
    help: 'Create or update skills from SKILL.md, from the folder of a skill, or from a folder of such folders.',
    options: SCOPE,
    run: async (scope, paths) => {
      if (paths.length === 0) throw new UsageError('skill import needs PATH....');
      const found = (await Promise.all(paths.map((given) => findSkills(path.resolve(given))))).flat();
      refuseTwins(found);
      return withToolRuntime(async ({ admin }) => {
        const [skills, failed] = [[] as object[], [] as object[]];
        for (const { at, leftOut, ...skill } of found) {
          try {
            const { name, version, issues } = await admin.skill.set({ ...scopeOf(scope), ...skill });
            skills.push({ name, version, issues, ...(leftOut.length === 0 ? {} : { left_out: leftOut }) });
          } catch (error) {
            failed.push({ path: at, ...toRuntimeError(error).toSummary() });
          }
        }
        printJson({ skills, ...(failed.length === 0 ? {} : { failed }) });
        return failed.length === 0 ? 0 : 1;
      });
    },
  }),
  command({
    words: 'skill export',
    names: ['NAME'],
    help: 'Print the SKILL.md of a skill, or write its folder below --folder, byte for byte.',
    options: { ...SCOPE, folder: text('DIR') },
    run: ({ folder, ...scope }, [name = '']) =>
      withToolRuntime(async ({ admin }) => {
        const { content, files } = await admin.skill.get({ ...scopeOf(scope), name });
        if (folder === undefined) {
          const { stdout } = terminal();
          stdout.write(stdout.isTTY === true ? escapeHidden(content) : content);
          return 0;
        }
        const own = below(path.resolve(folder), name);
        const all = [
          [path.join(own, 'SKILL.md'), Buffer.from(content)] as const,
          ...Object.entries(files).map(([at, file]) => [below(own, at), bytesOf(file)] as const),
        ];
        for (const [at, bytes] of all) {
          await mkdir(path.dirname(at), { recursive: true });
          await writeFile(at, bytes);
        }
        printJson({ folder: own, files: all.length });
        return 0;
      }),
  }),
];

interface Scope {
  readonly tenant?: string;
  readonly shared?: boolean;
}

const scopeOf = ({ tenant, shared }: Scope): { readonly tenantId?: string; readonly shared?: boolean } => ({
  ...(tenant === undefined ? {} : { tenantId: tenant }),
  ...(shared === undefined ? {} : { shared }),
});

/** A path under a folder. Throws a UsageError for one that leaves it. */
function below(folder: string, name: string): string {
  const found = path.resolve(folder, name);
  const [first] = path.relative(folder, found).split(path.sep);
  if (first !== '..' && first !== '') return found;
  throw new UsageError('The skill has a path that leaves its folder, so it is not written.');
}

interface FoundSkill {
  /** The path of its SKILL.md. */
  readonly at: string;
  readonly content: string;
  /** Undefined for a file that was named by itself: the skill keeps those that it has. */
  readonly files?: Readonly<Record<string, SkillFile>>;
  /** Paths in its folder that are no part of it. */
  readonly leftOut: readonly string[];
}

/** Throws a UsageError where there is no skill. */
async function findSkills(given: string): Promise<readonly FoundSkill[]> {
  const found = await stat(given).catch(() => undefined);
  if (found === undefined) throw new UsageError(`${given} cannot be read.`);
  if (found.isFile()) return [{ at: given, content: await readSkillFile(given), leftOut: [] }];
  const skills = await skillsIn(given, 0);
  if (skills.length === 0) throw new UsageError(`There is no SKILL.md in ${given}.`);
  return skills;
}

/** Throws a UsageError for two skills of one name: the second would take the place of the first. */
function refuseTwins(found: readonly FoundSkill[]): void {
  const names = new Map<string, string>();
  for (const { at, content } of found) {
    const [, name = at] = /^name:[ \t]*["']?([^"'\s]+)/m.exec(content) ?? [];
    const other = names.get(name);
    if (other !== undefined) throw new UsageError(`Two skills have the name ${name}: ${other} and ${at}.`);
    names.set(name, at);
  }
}

async function skillsIn(folder: string, depth: number): Promise<readonly FoundSkill[]> {
  const { files, folders } = await entriesOf(folder);
  const own = files.find((name) => name.toLowerCase() === 'skill.md');
  if (own !== undefined) {
    const at = path.join(folder, own);
    const content = await readSkillFile(at);
    const { found, leftOut } = await filesIn(folder, '', 0);
    return [{ at, content, files: Object.fromEntries(found.filter(([name]) => name !== own)), leftOut }];
  }
  if (depth >= MAX_DEPTH) return [];
  return (await Promise.all(folders.map((name) => skillsIn(path.join(folder, name), depth + 1)))).flat();
}

interface FoundFiles {
  readonly found: readonly (readonly [string, SkillFile])[];
  readonly leftOut: readonly string[];
}

async function filesIn(root: string, at: string, depth: number): Promise<FoundFiles> {
  if (depth > MAX_DEPTH) return { found: [], leftOut: [at] };
  const { files, folders, others } = await entriesOf(path.join(root, at));
  const pathOf = (name: string): string => (at === '' ? name : `${at}/${name}`);
  const own = files.map(async (name) => [pathOf(name), toFile(await readFile(path.join(root, at, name)))] as const);
  const inner = await Promise.all(folders.map((name) => filesIn(root, pathOf(name), depth + 1)));
  return {
    found: [...(await Promise.all(own)), ...inner.flatMap(({ found }) => found)],
    leftOut: [...others.map(pathOf), ...inner.flatMap(({ leftOut }) => leftOut)],
  };
}

/** Names in a folder, sorted; `others` are links, what is hidden, and packages. */
async function entriesOf(folder: string): Promise<{
  readonly files: readonly string[];
  readonly folders: readonly string[];
  readonly others: readonly string[];
}> {
  const entries = (await readdir(folder, { withFileTypes: true })).sort((one, other) =>
    one.name < other.name ? -1 : 1,
  );
  const isOther = ({ name }: { readonly name: string }): boolean => name.startsWith('.') || name === 'node_modules';
  const wanted = entries.filter((entry) => !isOther(entry));
  const files = wanted.filter((entry) => entry.isFile()).map(({ name }) => name);
  const folders = wanted.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const taken = new Set([...files, ...folders]);
  return { files, folders, others: entries.map(({ name }) => name).filter((name) => !taken.has(name)) };
}

async function readSkillFile(file: string): Promise<string> {
  const content = decodeUtf8(await readFile(file), true);
  if (content === undefined) throw new UsageError(`${file} is not UTF-8 text.`);
  return content;
}

/** A text with a NUL is none that a database keeps. */
function toFile(bytes: Buffer): SkillFile {
  const content = decodeUtf8(bytes, true);
  return content === undefined || content.includes('\0') ? { base64: bytes.toString('base64') } : { text: content };
}

const bytesOf = (file: SkillFile): Buffer =>
  'text' in file ? Buffer.from(file.text) : Buffer.from(file.base64, 'base64');
