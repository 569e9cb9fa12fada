import { parse } from 'yaml';

import { errorText } from '../errors/to-runtime-error';
import { isDeeperThan, isJsonObject, type JsonObject, prototypeKeyIn } from '../util/json';
import { splitSkill } from './skill-text';

const MAX_DEPTH = 10;
/** Malformed YAML takes time with the square of its length; this much blocks for about 30 ms. */
const MAX_LENGTH = 3000;

/**
 * Reads the YAML at the beginning of SKILL.md; every scalar comes as text. Throws an Error.
 */
export function readFrontMatter(content: string): JsonObject {
  const { frontMatter } = splitSkill(content);
  if (frontMatter === undefined) throw new Error('it must begin with YAML between two lines of ---');
  if (frontMatter.length > MAX_LENGTH) throw new Error(`its front matter is longer than ${MAX_LENGTH} characters`);
  const read = parseYaml(frontMatter);
  if (!isJsonObject(read)) throw new Error('its front matter must be a list of "key: value"');
  if (isDeeperThan(read, MAX_DEPTH)) throw new Error('its front matter is nested too deeply');
  const key = prototypeKeyIn(read);
  if (key !== undefined) throw new Error(`its front matter has the key "${key}", which nothing can have`);
  return read;
}

/** Aliases are refused: a few of them make gigabytes. */
function parseYaml(text: string): unknown {
  try {
    return parse(quoteProse(text), { schema: 'failsafe', maxAliasCount: 0, logLevel: 'error', prettyErrors: false });
  } catch (error) {
    throw new Error(`its front matter is not YAML: ${errorText(error)}`, { cause: error });
  }
}

/** Keys whose values are read as YAML: they restrict the skill, or have a structure. */
const STRICT = /^(?:name|metadata|model|max[_-]turns)$|tools?/i;
const LINE = /^([\w-]+):[ \t]+([^\s"'|>].*)$(?!\r?\n[ \t]+\S)/gm;

/** Quotes one-line values of the other keys: other programs accept `Use when: asked`, `[file] [mode]` and `Issue #5`. */
function quoteProse(text: string): string {
  return text.replace(LINE, (line, key: string, value: string) =>
    STRICT.test(key) ? line : `${key}: ${JSON.stringify(value.trimEnd())}`,
  );
}
