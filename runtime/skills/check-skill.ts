import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import { hasPattern, readSkill, type SkillText } from './read-skill';

const NAME = /^[\p{L}\p{M}\p{N}_-]+$/u;
const MAX_NAME = 64;
const SPECIFIED_NAME = /^(?!-)(?!.*--)[\p{Ll}\p{Lo}\p{M}\p{N}-]+(?<!-)$/u;
const MAX_DESCRIPTION = 1024;
const MAX_COMPATIBILITY = 500;
/** The specification recommends fewer than 500 lines. */
const ADVISED_LINES = 500;
const MAX_CONTENT = 200_000;

/** A skill that can be used. */
export interface CheckedSkill extends SkillText {
  readonly name: string;
  readonly description: string;
  /** Deviations from the specification, and parts that are not supported. */
  readonly issues: readonly string[];
}

/**
 * Reads SKILL.md as agentskills.io/specification says, and as tolerantly as its guide for clients advises. Rejects with
 * SKILL_INVALID for a text without a name or a description.
 */
export async function checkSkill(content: string): Promise<CheckedSkill> {
  const skill = await read(content);
  const { name = '', description = '' } = skill;
  if (!NAME.test(name) || name.length > MAX_NAME)
    throw invalid(name, 'name must be 1 to 64 lower-case letters, digits and hyphens');
  if (description === '') throw invalid(name, 'description must say what the skill does and when to use it');
  if (!description.isWellFormed() || description.includes('\0')) {
    throw invalid(name, 'description holds a NUL or half of a surrogate pair');
  }
  if (description.length > MAX_DESCRIPTION) {
    throw invalid(name, `description has ${description.length} characters, and ${MAX_DESCRIPTION} is the limit`);
  }
  return { ...skill, name, description, issues: [...issuesOf({ ...skill, name })] };
}

async function read(content: string): Promise<SkillText> {
  if (content.length > MAX_CONTENT) throw invalid('', `it is longer than ${MAX_CONTENT} characters`);
  try {
    return await readSkill(content);
  } catch (error) {
    throw invalid('', errorText(error));
  }
}

function* issuesOf({ name = '', allowedTools = [], compatibility = '', body }: SkillText): Generator<string> {
  if (!SPECIFIED_NAME.test(name)) {
    yield 'its name does not follow the specification: lower-case letters, digits and single hyphens';
  }
  if (compatibility.length > MAX_COMPATIBILITY) yield `compatibility is longer than ${MAX_COMPATIBILITY} characters`;
  if (body.split('\n').length > ADVISED_LINES) {
    yield `it has more than ${ADVISED_LINES} lines: move details into files of its folder`;
  }
  const patterns = allowedTools.filter(hasPattern);
  if (patterns.length > 0)
    yield `argument patterns are not supported, so these entries allow nothing: ${patterns.join(', ')}`;
}

function invalid(skill: string, reason: string): RuntimeError {
  return new RuntimeError('SKILL_INVALID', { skill: skill.slice(0, MAX_NAME), issues: reason });
}
