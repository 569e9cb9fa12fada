import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

import type { SkillFile } from '../../contracts/tools/skill';
import { errorText, toRuntimeError } from '../../errors/to-runtime-error';
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
      const found: Found = { skills: [], unreadable: [], leftOut: [] };
      for (const given of paths) await look(path.resolve(given), found);
      const { twins, skills: single } = withoutTwins(found.skills);
      const failed: object[] = [...found.unreadable, ...twins];
      return withToolRuntime(async ({ admin }) => {
        const skills = [];
        for (const { at, ...skill } of single) {
          try {
            const { name, version, issues } = await admin.skill.set({ ...scopeOf(scope), ...skill });
            skills.push({ name, version, issues });
          } catch (error) {
            failed.push({ path: at, ...toRuntimeError(error).toSummary() });
          }
        }
        printJson({ skills, failed, left_out: found.leftOut });
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
          ...Object.entries(files).map(([at, file]) => [below(own, at), bytesOf(file)] as const),
          [path.join(own, 'SKILL.md'), Buffer.from(content)] as const,
        ];
        await writeAll(all);
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

/** Throws a UsageError for a file that cannot be written. */
async function writeAll(files: readonly (readonly [string, Uint8Array])[]): Promise<void> {
  for (const [at, bytes] of files) {
    try {
      await mkdir(path.dirname(at), { recursive: true });
      await writeFile(at, bytes);
    } catch (error) {
      throw new UsageError(`${at} cannot be written: ${errorText(error)}.`);
    }
  }
}

interface FoundSkill {
  /** The path of its SKILL.md. */
  readonly at: string;
  readonly content: string;
  /** Undefined for a file that was named by itself: the skill keeps those that it has. */
  readonly files?: Readonly<Record<string, SkillFile>>;
}

/** Findings of an import, sorted by path. */
interface Found {
  readonly skills: FoundSkill[];
  readonly unreadable: object[];
  /** Paths that are not looked into: links, what is hidden, packages, and what lies too deep. */
  readonly leftOut: string[];
}

/** Throws a UsageError where there is no skill. */
async function look(given: string, found: Found): Promise<void> {
  const { skills, unreadable } = found;
  const before = skills.length + unreadable.length;
  try {
    if ((await stat(given)).isFile()) await addSkill({ at: given }, found);
    else await lookInto(given, 0, found);
  } catch (error) {
    throw new UsageError(`${given} cannot be read: ${errorText(error)}.`);
  }
  if (skills.length + unreadable.length === before) throw new UsageError(`There is no SKILL.md in ${given}.`);
}

async function lookInto(folder: string, depth: number, found: Found): Promise<void> {
  const { files, folders } = await entriesOf(folder, found);
  const own = files.find((name) => name.toLowerCase() === 'skill.md');
  if (own !== undefined) {
    const all = await filesIn({ root: folder, at: '', depth: 0 }, found);
    const others = Object.fromEntries(all.filter(([name]) => name !== own));
    await addSkill({ at: path.join(folder, own), files: others }, found);
  } else if (depth >= MAX_DEPTH) {
    found.leftOut.push(...folders.map((name) => path.join(folder, name)));
  } else {
    for (const name of folders) await lookInto(path.join(folder, name), depth + 1, found);
  }
}

async function addSkill(skill: Omit<FoundSkill, 'content'>, { skills, unreadable }: Found): Promise<void> {
  const content = decodeUtf8(await readFile(skill.at), true);
  if (content !== undefined) skills.push({ ...skill, content });
  else unreadable.push({ path: skill.at, code: 'SKILL_INVALID', message: 'It is not UTF-8 text.' });
}

/** Separates skills that share a name: the second would overwrite the first. */
function withoutTwins(skills: readonly FoundSkill[]): {
  readonly skills: readonly FoundSkill[];
  readonly twins: readonly object[];
} {
  const byName = Map.groupBy(skills, ({ at, content }) => /^name:[ \t]*["']?([^"'\s]+)/m.exec(content)?.[1] ?? at);
  const twins = [...byName].flatMap(([name, all]) => (all.length < 2 ? [] : all.map(({ at }) => ({ name, at }))));
  const message = (name: string): string => `Several skills have the name "${name}", so none of them is written.`;
  return {
    skills: skills.filter(({ at }) => !twins.some((twin) => twin.at === at)),
    twins: twins.map(({ name, at }) => ({ path: at, code: 'SKILL_EXISTS', message: message(name) })),
  };
}

interface Place {
  /** The folder of the skill. */
  readonly root: string;
  /** The path below it. */
  readonly at: string;
  readonly depth: number;
}

async function filesIn({ root, at, depth }: Place, found: Found): Promise<readonly (readonly [string, SkillFile])[]> {
  const { files, folders } = await entriesOf(path.join(root, at), depth === 0 ? undefined : found);
  const pathOf = (name: string): string => (at === '' ? name : `${at}/${name}`);
  const all = await Promise.all(
    files.map(async (name) => [pathOf(name), toFile(await readFile(path.join(root, at, name)))] as const),
  );
  if (depth >= MAX_DEPTH) {
    found.leftOut.push(...folders.map((name) => path.join(root, at, name)));
    return all;
  }
  const inner = [];
  for (const name of folders) inner.push(...(await filesIn({ root, at: pathOf(name), depth: depth + 1 }, found)));
  return [...all, ...inner];
}

/** Names in a folder, sorted. Links, what is hidden, and packages are left out. */
async function entriesOf(
  folder: string,
  found: Found | undefined,
): Promise<{ readonly files: readonly string[]; readonly folders: readonly string[] }> {
  const entries = (await readdir(folder, { withFileTypes: true })).sort((one, other) =>
    one.name < other.name ? -1 : 1,
  );
  const wanted = entries.filter(({ name }) => !name.startsWith('.') && name !== 'node_modules');
  const files = wanted.filter((entry) => entry.isFile()).map(({ name }) => name);
  const folders = wanted.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const taken = new Set([...files, ...folders]);
  found?.leftOut.push(...entries.filter(({ name }) => !taken.has(name)).map(({ name }) => path.join(folder, name)));
  return { files, folders };
}

/** Keeps as bytes what Postgres cannot store as text. */
function toFile(bytes: Buffer): SkillFile {
  const content = decodeUtf8(bytes, true);
  return content === undefined || content.includes('\0') ? { base64: bytes.toString('base64') } : { text: content };
}

const bytesOf = (file: SkillFile): Buffer =>
  'text' in file ? Buffer.from(file.text) : Buffer.from(file.base64, 'base64');
