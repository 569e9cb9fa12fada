import * as z from 'zod/v4';

import type { SkillFiles } from '../../contracts/tools/skill';
import { RuntimeError } from '../../errors/runtime-error';
import { checkSkill } from '../../skills/check-skill';
import { readSkillRow, SKILL_ROWS, type SkillDetails } from '../../storage/sql/admin/manage-skills';
import type { RowOwner } from '../../storage/sql/admin/scoped-rows';
import type { Query } from '../../storage/statement';
import { isJsonObject } from '../../util/json';
import { checkTenant } from '../check-tenant';
import type { GivenFiles, WrittenSkill } from '../contract/skill';
import { type ScopedKind, unknownRow, type WriteMode, writeScopedRow } from '../scoped-row';
import { catalogue, missing } from './skill-issues';

export const SKILLS: ScopedKind = {
  rows: SKILL_ROWS,
  exists: (skill) => new RuntimeError('SKILL_EXISTS', { skill }),
  unknown: (owner, skill) => new RuntimeError('SKILL_UNKNOWN', { owner, skill }),
};

/** Description of the field `shared`. */
export const SHARED = 'Whether every tenant can use the skill, unless it has its own of this name';

const MAX_FILES = 100;
const MAX_FILES_LENGTH = 2_000_000;
/** Relative, without `..`: an export writes it below a folder. */
const PATH = /^(?!\.{1,2}(?:\/|$))[^/\\:\p{Cc}]+(?:\/(?!\.{1,2}(?:\/|$))[^/\\:\p{Cc}]+)*$/u;

const path = z.string().refine((text) => text.length <= 200 && PATH.test(text) && text.toLowerCase() !== 'skill.md', {
  error: ({ input }) => `${JSON.stringify(input)} must be a path below the folder of the skill, other than SKILL.md`,
});
const file = z.union([
  z.string().transform((text) => ({ text })),
  z.strictObject({ text: z.string() }),
  z.strictObject({ base64: z.base64() }),
]);

const hasBelow = (one: string, files: object): boolean =>
  Object.keys(files).some((other) => other.startsWith(`${one}/`));

export const nameField = z.string().normalize().min(1).max(64).meta({
  placeholder: 'refunds',
  description: 'The name in the front matter of the skill',
});

const contentField = z.string().min(1).meta({
  rows: 12,
  whole: true,
  placeholder:
    '---\nname: refunds\ndescription: Pays money back. Use when a customer asks for it.\n---\nLook the order up first.',
  description: 'The text of SKILL.md: YAML with name and description between two lines of ---, then the instructions',
});

const more = {
  files: z
    .custom<GivenFiles>(isJsonObject, 'must be a JSON object')
    // An object may have any name for a key, even constructor.
    .transform((files) => Object.entries(files))
    .pipe(z.array(z.tuple([path, file])))
    .transform((files): SkillFiles => Object.fromEntries(files))
    .refine((files) => !Object.keys(files).some((one) => hasBelow(one, files)), 'has a folder and a file of one name')
    .refine((files) => Object.keys(files).length <= MAX_FILES, `must not be more than ${MAX_FILES} files`)
    .refine((files) => JSON.stringify(files).length <= MAX_FILES_LENGTH, 'must not be more than 2 MB together')
    .optional()
    .meta({
      any: true,
      group: 'more',
      description:
        'Other files of its folder, as JSON: {"references/FORMS.md": "text"}, or {"base64": "…"} for what is not text',
    }),
  isActive: z.boolean().optional().meta({
    group: 'more',
    title: 'Active',
    initial: true,
    description: 'Whether runs may load the skill',
  }),
};

/** The input of a skill that comes as a whole. */
export const wholeShape = { content: contentField, ...more };

export const changeShape = {
  name: nameField,
  content: contentField.optional().meta({ group: 'more', rows: 12, whole: true }),
  ...more,
};

interface Change {
  readonly tenantId?: string;
  /** Undefined: that of the content. */
  readonly name?: string;
  readonly content?: string;
  readonly files?: SkillFiles;
  readonly isActive?: boolean;
}

/** Writes a row: a new one, one that is there, or either. Rejects with SKILL_EXISTS, SKILL_UNKNOWN or SKILL_INVALID. */
export async function writeSkill(
  query: Query,
  given: Change,
  { codeTools, ...mode }: WriteMode & { readonly codeTools: readonly string[] },
): Promise<WrittenSkill> {
  const { name, values } = await readChange(given);
  const owner = { tenantId: given.tenantId, name };
  if (owner.tenantId !== undefined) await checkTenant(query, owner.tenantId);
  await writeScopedRow(query, SKILLS, { ...mode, owner, values });
  const written = await readSkillOf(query, owner);
  const skill = await checkSkill(written.content);
  const lacks = await missing(query, skill, await catalogue(query, codeTools));
  return { ...written, issues: [...skill.issues, ...lacks] };
}

/** The name, and values by column. Rejects with SKILL_INVALID. */
async function readChange({ name, content, files, isActive }: Change): Promise<{
  readonly name: string;
  readonly values: Readonly<Record<string, unknown>>;
}> {
  const values = { files, is_active: isActive };
  if (content === undefined) return { name: name ?? '', values };
  const { name: own, description } = await checkSkill(content);
  if (name !== undefined && name !== own) {
    throw new RuntimeError('SKILL_INVALID', { skill: name, issues: `its front matter has the name "${own}"` });
  }
  return { name: own, values: { ...values, description, content } };
}

/** Throws SKILL_UNKNOWN. */
export async function readSkillOf(query: Query, owner: RowOwner): Promise<SkillDetails> {
  const [row] = await query<SkillDetails>(readSkillRow(owner));
  if (row === undefined) throw unknownRow(SKILLS, owner);
  return row;
}
