/** A skill as the model sees it before it loads it. */
export interface SkillEntry {
  readonly name: string;
  /** Purpose of the skill, and when to use it. */
  readonly description: string;
}

/** Skills of a run, and names without a skill. */
export interface GivenSkills {
  readonly entries: readonly SkillEntry[];
  readonly missing: readonly string[];
}

/** A row of elo_agent_skills. */
export interface SkillRow extends Pick<SkillEntry, 'name'> {
  /** SKILL.md as it was written. */
  readonly content: string;
  /** Paths of the other files of its folder. */
  readonly paths: readonly string[];
  /** The file that was asked for; undefined if there is none of this path. */
  readonly file?: SkillFile;
}

/** A file beside SKILL.md: text, or the bytes of anything else. */
export type SkillFile = { readonly text: string } | { readonly base64: string };

/** Files of a skill by path, such as `references/FORMS.md`. */
export type SkillFiles = Readonly<Record<string, SkillFile>>;

/** Where the texts of skills come from. */
export interface SkillReader {
  /** The tenant's own skill of the name, else that for all tenants; undefined for none, and for one that is not active. */
  readonly read: (request: {
    readonly tenantId: string;
    readonly name: string;
    /** Path of a file that is needed too. */
    readonly path?: string;
  }) => Promise<SkillRow | undefined>;
}
