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
  /** How many model calls it may make. */
  readonly maxTurns?: string;
  readonly license?: string;
  readonly compatibility?: string;
  /** The instructions. */
  readonly body: string;
}

/**
 * Reads SKILL.md as far as it can be read. `tools` is another word for `allowed-tools`; `model` and `max_turns` may stand under
 * `metadata`, since the specification does not know them. Rejects with an Error for front matter that is not YAML.
 */
export async function readSkill(content: string): Promise<SkillText> {
  // The parser is loaded with the first skill.
  const { readFrontMatter } = await import('./front-matter');
  const frontMatter = readFrontMatter(content);
  const { metadata } = frontMatter;
  const all: JsonObject = { ...(isJsonObject(metadata) ? metadata : {}), ...frontMatter };
  const tools = frontMatter['allowed-tools'] ?? frontMatter.allowed_tools ?? frontMatter.tools;
  const model = textOf(all.model);
  return {
    name: textOf(frontMatter.name),
    description: textOf(frontMatter.description),
    allowedTools: tools === undefined ? undefined : readTools(tools),
    model: model === 'inherit' ? undefined : model,
    maxTurns: textOf(all.max_turns ?? all['max-turns']),
    license: textOf(frontMatter.license),
    compatibility: textOf(frontMatter.compatibility),
    body: splitSkill(content).body,
  };
}

/** What can be neither a text nor a list names nothing, so that no tool is left. */
function readTools(given: JsonValue): readonly string[] {
  const texts = [given].flat().map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  return texts.flatMap((text) => text.match(/[^\s,(]+(?:\([^)]*\)?)?|\([^)]*\)?/g) ?? []);
}

/** `mcp__github__create_issue` of other programs is our `github.create_issue`. */
export function toolNameOf(entry: string): string {
  return entry.replace(/^mcp__(.+?)__(.+)$/, '$1.$2');
}

/** An entry such as `Bash(git:*)` allows some arguments only, which cannot be held: it must not allow all. */
export const hasPattern = (entry: string): boolean => entry.includes('(');

function textOf(given: JsonValue | undefined): string | undefined {
  return typeof given === 'string' && given.trim() !== '' ? given.trim() : undefined;
}
