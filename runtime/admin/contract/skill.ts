import type { SkillFile } from '../../contracts/tools/skill';
import type { SkillDetails, SkillSummary } from '../../storage/sql/admin/manage-skills';
import type { Scope, ScopeShown } from './scope';

/** Files of a skill's folder by path, without SKILL.md; a text stands for `{text}`. */
export type GivenFiles = Readonly<Record<string, string | SkillFile>>;

interface SkillText {
  /** SKILL.md, kept byte for byte. Its front matter has the name. */
  readonly content: string;
  /** Default: those that it has. */
  readonly files?: GivenFiles;
  readonly isActive?: boolean;
}

type Named = Scope & { readonly name: string };

/** A skill as it was written, with its issues. */
export type WrittenSkill = SkillDetails & { readonly issues: readonly string[] };

/** Issues of a skill; none for a valid one. */
interface SkillCheck extends Pick<SkillSummary, 'name' | 'scope'> {
  readonly issues: readonly string[];
}

/**
 * Skills of a tenant, or with `shared` of all tenants, in the format of agentskills.io/specification. Every method rejects with
 * ADMIN_INPUT_INVALID, SKILL_INVALID, SKILL_UNKNOWN, TENANT_NOT_FOUND or a DB_ code; then nothing has changed.
 *
 * @example
 * await runtime.admin.skill.create({ tenantId, content: '---\nname: refunds\ndescription: Pays back. Use for refunds.\n---\nCheck …' });
 */
export interface SkillAdmin {
  /** Rejects with SKILL_EXISTS too. */
  readonly create: (skill: Scope & SkillText) => Promise<WrittenSkill>;
  /** Creates a skill, or updates the one of this name. Idempotent. */
  readonly set: (skill: Scope & SkillText) => Promise<WrittenSkill>;
  readonly get: (skill: Named) => Promise<SkillDetails>;
  /** The tenant's own skills and those of all tenants. */
  readonly list: (scope: Scope) => Promise<ScopeShown & { readonly skills: readonly SkillSummary[] }>;
  readonly update: (skill: Named & Partial<SkillText>) => Promise<WrittenSkill>;
  /** Checks each skill, or one: unknown tools and models, deviations from the specification. */
  readonly validate: (
    scope: Scope & { readonly name?: string },
  ) => Promise<ScopeShown & { readonly skills: readonly SkillCheck[] }>;
  readonly delete: (skill: Named) => Promise<ScopeShown & { readonly name: string; readonly deleted: true }>;
}
