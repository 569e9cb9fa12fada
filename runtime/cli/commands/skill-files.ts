import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

import type { SkillFile } from '../../contracts/tools/skill';
import { UsageError } from '../arguments';
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
      const skills = (await Promise.all(paths.map((given) => findSkills(path.resolve(given))))).flat();
      return withToolRuntime(async ({ admin }) => {
        const written = [];
        for (const skill of skills) {
          const { name, version, issues } = await admin.skill.set({ ...scopeOf(scope), ...skill });
          written.push({ name, version, issues });
        }
        printJson({ skills: written });
        return 0;
      });
    },
  }),
  command({
    words: 'skill export',
    names: ['NAME'],
    help: 'Print the SKILL.md of a skill, or write its folder with --folder, byte for byte.',
    options: { ...SCOPE, folder: text('DIR') },
    run: ({ folder, ...scope }, [name = '']) =>
      withToolRuntime(async ({ admin }) => {
        const { content, files } = await admin.skill.get({ ...scopeOf(scope), name });
        if (folder === undefined) {
          terminal().stdout.write(content);
          return 0;
        }
        const own = below(path.resolve(folder), name);
        const all = Object.entries(files).map(([at, file]): [string, Uint8Array] => [below(own, at), bytesOf(file)]);
        for (const [at, bytes] of [[path.join(own, 'SKILL.md'), Buffer.from(content)] as const, ...all]) {
          await mkdir(path.dirname(at), { recursive: true });
          await writeFile(at, bytes);
        }
        printJson({ folder: own, files: all.length + 1 });
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
  if (found.startsWith(folder + path.sep)) return found;
  throw new UsageError('The skill has a path that leaves its folder, so it is not written.');
}

interface FoundSkill {
  readonly content: string;
  readonly files?: Readonly<Record<string, SkillFile>>;
}

/** Throws a UsageError where there is no skill. */
async function findSkills(given: string): Promise<readonly FoundSkill[]> {
  const found = await statOf(given);
  if (found.isFile()) return [{ content: await readSkillFile(given) }];
  const skills = await skillsIn(given, 0);
  if (skills.length === 0) throw new UsageError(`There is no SKILL.md in ${given}.`);
  return skills;
}

async function statOf(given: string): Promise<Awaited<ReturnType<typeof stat>>> {
  try {
    return await stat(given);
  } catch {
    throw new UsageError(`${given} cannot be read.`);
  }
}

async function skillsIn(folder: string, depth: number): Promise<readonly FoundSkill[]> {
  const entries = await entriesOf(folder);
  const own = entries.find((entry) => entry.isFile() && entry.name.toLowerCase() === 'skill.md');
  if (own !== undefined) {
    const content = await readSkillFile(path.join(folder, own.name));
    const files = (await filesIn(folder, '', 0)).filter(([name]) => name !== own.name);
    return [{ content, files: Object.fromEntries(files) }];
  }
  if (depth >= MAX_DEPTH) return [];
  const folders = entries.filter((entry) => entry.isDirectory());
  return (await Promise.all(folders.map(({ name }) => skillsIn(path.join(folder, name), depth + 1)))).flat();
}

async function filesIn(root: string, at: string, depth: number): Promise<readonly (readonly [string, SkillFile])[]> {
  if (depth > MAX_DEPTH) return [];
  const found = [];
  for (const entry of await entriesOf(path.join(root, at))) {
    const name = at === '' ? entry.name : `${at}/${entry.name}`;
    if (entry.isFile()) found.push([name, toFile(await readFile(path.join(root, name)))] as const);
    else if (entry.isDirectory()) found.push(...(await filesIn(root, name, depth + 1)));
  }
  return found;
}

/** Files and folders in the order of their names: no links, nothing hidden, no packages. */
async function entriesOf(folder: string) {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

async function readSkillFile(file: string): Promise<string> {
  const content = exactText(await readFile(file));
  if (content === undefined) throw new UsageError(`${file} is not UTF-8 text.`);
  return content;
}

/** The text of bytes that are UTF-8, with a byte order mark; undefined for others. */
function exactText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** A text with a NUL is none that a database keeps. */
function toFile(bytes: Buffer): SkillFile {
  const content = exactText(bytes);
  return content === undefined || content.includes('\0') ? { base64: bytes.toString('base64') } : { text: content };
}

const bytesOf = (file: SkillFile): Buffer =>
  'text' in file ? Buffer.from(file.text) : Buffer.from(file.base64, 'base64');
