import { RuntimeError } from '../errors/runtime-error';
import { errorText } from '../errors/to-runtime-error';
import type { JsonObject } from '../util/json';
import { readFrontMatter } from './front-matter';
import { hasPattern, readDefinition } from './read-skill';
import { splitSkill } from './skill-text';

const NAME = /^[\p{L}\p{M}\p{N}_-]{1,64}$/u;
const SPECIFIED_NAME = /^(?!-)(?!.*--)[\p{Ll}\p{Lo}\p{M}\p{N}-]+(?<!-)$/u;
const MAX_DESCRIPTION = 1024;
const MAX_COMPATIBILITY = 500;
/** The specification asks for less than 500 lines. */
const ADVISED_LINES = 500;
const MAX_CONTENT = 200_000;

/** A skill that can be used. */
export interface CheckedSkill {
  readonly name: string;
  readonly description: string;
  /** Its front matter without these two. */
  readonly definition: JsonObject;
  /** Where it is not as the specification wants it, and what cannot be used. */
  readonly issues: readonly string[];
}

/**
 * Reads SKILL.md as agentskills.io/specification says, and as tolerantly as its guide for clients advises. Throws SKILL_INVALID
 * for a text without a name or a description.
 */
export function checkSkill(content: string): CheckedSkill {
  const { name, description, ...definition } = frontMatterOf(content);
  const named = typeof name === 'string' ? name.trim() : '';
  if (!NAME.test(named)) {
    throw invalid(content, 'name must be 1 to 64 lower-case letters, digits and hyphens');
  }
  const described = typeof description === 'string' ? description.trim() : '';
  if (described === '') throw invalid(content, 'description must say what the skill does and when to use it');
  if (described.length > MAX_DESCRIPTION) {
    throw invalid(content, `description has ${described.length} characters, and ${MAX_DESCRIPTION} is the limit`);
  }
  return {
    name: named,
    description: described,
    definition,
    issues: [...issuesOf(content, { name: named, definition })],
  };
}

function frontMatterOf(content: string): JsonObject {
  if (content.length > MAX_CONTENT) throw invalid(content, `it is longer than ${MAX_CONTENT} characters`);
  try {
    return readFrontMatter(content);
  } catch (error) {
    throw invalid(content, errorText(error));
  }
}

function* issuesOf(
  content: string,
  { name, definition }: Pick<CheckedSkill, 'name' | 'definition'>,
): Generator<string> {
  const { allowedTools = [], model, maxTurns, compatibility = '' } = readDefinition(definition);
  if (!SPECIFIED_NAME.test(name)) {
    yield 'its name is not as the specification wants it: lower-case letters, digits and single hyphens';
  }
  if (compatibility.length > MAX_COMPATIBILITY) yield `compatibility is longer than ${MAX_COMPATIBILITY} characters`;
  if (splitSkill(content).body.split('\n').length > ADVISED_LINES) {
    yield `it has more than ${ADVISED_LINES} lines: move details into files of its folder`;
  }
  const patterns = allowedTools.filter(hasPattern);
  if (patterns.length > 0) yield `patterns of arguments cannot be held, so it does without ${patterns.join(', ')}`;
  if (model !== undefined || maxTurns !== undefined) {
    yield 'it has a model or max_turns of its own, so it cannot be loaded yet';
  }
}

function invalid(content: string, reason: string): RuntimeError {
  const [, skill = ''] = /^name:[ \t]*([\w-]{1,64})[ \t]*$/m.exec(content.slice(0, 2000)) ?? [];
  return new RuntimeError('SKILL_INVALID', { skill, issues: reason });
}
