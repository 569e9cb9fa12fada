import { isJsonObject, type JsonObject, type JsonValue } from '../util/json';
import { splitSkill } from './skill-text';

/** SKILL.md, read. */
export interface SkillText {
  readonly name?: string;
  readonly description?: string;
  /** Undefined: it narrows nothing. Empty: none. */
  readonly allowedTools?: readonly string[];
  /** A model of its own. */
  readonly model?: string;
  /** Limit of its model calls. */
  readonly maxTurns?: number;
  readonly compatibility?: string;
  /** The instructions. */
  readonly body: string;
}

const TOOLS = ['allowed-tools', 'allowed_tools', 'tools'];
const TURNS = ['max_turns', 'max-turns'];
const MAX_TOOLS = 200;

/**
 * Reads SKILL.md as far as it can be read. `tools` is another word for `allowed-tools`; `model` and `max_turns` may stand under
 * `metadata`, since the specification does not know them. Rejects with an Error for front matter that is not YAML, and for a key
 * that seems to have been meant to guard.
 */
export async function readSkill(content: string): Promise<SkillText> {
  // The parser is loaded with the first skill.
  const { readFrontMatter } = await import('./front-matter');
  const frontMatter = readFrontMatter(content);
  refuseMisspelt(frontMatter);
  const { metadata } = frontMatter;
  const all: JsonObject = { ...(isJsonObject(metadata) ? metadata : {}), ...frontMatter };
  const tools = TOOLS.find((key) => Object.hasOwn(frontMatter, key));
  const model = textOf(all.model, 'model');
  return {
    name: textOf(frontMatter.name)?.normalize('NFC'),
    description: textOf(frontMatter.description),
    allowedTools: tools === undefined ? undefined : readTools(frontMatter[tools] ?? null),
    model: model === 'inherit' ? undefined : model,
    maxTurns: readTurns(textOf(all.max_turns ?? all['max-turns'], 'max_turns')),
    compatibility: textOf(frontMatter.compatibility),
    body: splitSkill(content).body,
  };
}

/** Throws an Error for anything but a whole number above zero. */
function readTurns(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (!/^[1-9]\d{0,5}$/.test(given))
    throw new Error(`its max_turns "${given.slice(0, 20)}" must be a whole number above zero`);
  return Number(given);
}

/** Rejects unknown keys that seem to restrict tools. Throws an Error. */
function refuseMisspelt(frontMatter: JsonObject): void {
  const { metadata } = frontMatter;
  const inMetadata = isJsonObject(metadata) ? Object.keys(metadata).filter((key) => GUARDS.test(key)) : [];
  const [found] = [
    ...Object.keys(frontMatter).filter((key) => /tools?/i.test(key) && !TOOLS.includes(key)),
    ...inMetadata,
  ];
  if (found !== undefined) throw new Error(`its key "${found}" is not read: name the tools in allowed-tools`);
  const all = [...Object.keys(frontMatter), ...(isJsonObject(metadata) ? Object.keys(metadata) : [])];
  const turns = all.find((key) => /^max[-_]?turns?$/i.test(key) && !TURNS.includes(key));
  if (turns !== undefined) throw new Error(`its key "${turns}" is not read: the limit of model calls is max_turns`);
}

const GUARDS = /(allow|enable|permit|deny|denie|disable).*tools?|^tools$/i;

/** Returns no names for a value that is neither a text nor a list, so that no tool is left. */
function readTools(given: JsonValue): readonly string[] {
  const texts = [given].flat().map((one) => (typeof one === 'string' ? one : one === null ? '' : JSON.stringify(one)));
  const entries = texts.flatMap(splitTools);
  if (entries.length > MAX_TOOLS) throw new Error(`it has more than ${MAX_TOOLS} allowed tools`);
  return entries;
}

/** Splits at blanks and commas outside parentheses. */
function splitTools(text: string): readonly string[] {
  let depth = 0;
  const marked = Array.from(text, (char) => {
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
    return depth <= 0 && /[\s,]/.test(char) ? '\n' : char.replace('\n', ' ');
  });
  return marked
    .join('')
    .split('\n')
    .filter((entry) => entry !== '');
}

/** `mcp__github__create_issue` of other programs is our `github.create_issue`. */
export function toolNameOf(entry: string): string {
  return entry.replace(/^mcp__(.+?)__(.+)$/, '$1.$2');
}

/** True for entries such as `Bash(git:*)`. Argument patterns are not supported, so these entries allow nothing. */
export const hasPattern = (entry: string): boolean => /[()]/.test(entry);

/** Throws an Error for a value of this key that is no text. */
function textOf(given: JsonValue | undefined, key?: string): string | undefined {
  if (key !== undefined && given !== undefined && typeof given !== 'string')
    throw new Error(`its ${key} must be one word`);
  return typeof given === 'string' && given.trim() !== '' ? given.trim() : undefined;
}
