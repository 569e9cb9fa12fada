import { parse } from 'yaml';

import { errorText } from '../errors/to-runtime-error';
import { isDeeperThan, isJsonObject, type JsonObject, prototypeKeyIn } from '../util/json';
import { splitSkill } from './skill-text';

const MAX_DEPTH = 10;
/** More YAML of the kind that is hard to read would hold the process too long. */
const MAX_LENGTH = 5000;

/**
 * Reads the YAML at the beginning of SKILL.md; every scalar comes as text. A description with an unquoted colon, which other
 * programs accept, is read as text too. Throws an Error.
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

function parseYaml(text: string): unknown {
  try {
    return parseStrictly(text);
  } catch (error) {
    const quoted = quoteColons(text);
    if (quoted === text) throw unreadable(error);
    try {
      return parseStrictly(quoted);
    } catch {
      throw unreadable(error);
    }
  }
}

/** Aliases are refused: a few of them make gigabytes. */
const parseStrictly = (text: string): unknown =>
  parse(text, { schema: 'failsafe', maxAliasCount: 0, logLevel: 'error', prettyErrors: false });

const unreadable = (error: unknown): Error => new Error(`its front matter is not YAML: ${errorText(error)}`);

/** `description: Use this when: the user asks` with the value in quotes. Of lines that guard nothing is guessed. */
function quoteColons(text: string): string {
  return text.replace(/^(description|compatibility):[ \t]+([^\s"'|>[{].*)$/gm, (line, key: string, value: string) =>
    /: |:\s*$/.test(value) ? `${key}: ${JSON.stringify(value.trimEnd())}` : line,
  );
}
