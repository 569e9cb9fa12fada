import { BUILT_IN_TIERS } from '../../contracts/built-in-tiers';
import { isNamed } from '../../permissions/name-pattern';
import { hasPattern, type SkillText, toolNameOf } from '../../skills/read-skill';
import { knownModels } from '../../storage/sql/admin/manage-skills';
import { type KnownTool, knownTools } from '../../storage/sql/admin/manage-tools';
import type { Query } from '../../storage/statement';
import { plainName } from '../../tools/offered-names';

/** Names that tools have for people and for models. */
type Known = (entry: string) => boolean;

/** Returns the issues of a skill that names unknown tools or an unknown model. */
export async function missing(
  query: Query,
  { allowedTools = [], model }: SkillText,
  known: Known,
): Promise<readonly string[]> {
  const tools = allowedTools.filter((entry) => !hasPattern(entry) && !known(toolNameOf(entry)));
  const issues = tools.length === 0 ? [] : [`unknown tools: ${tools.join(', ')}`];
  if (model === undefined || BUILT_IN_TIERS.some(({ code, modelId }) => code === model || modelId === model))
    return issues;
  const rows = await query(knownModels({ names: [model] }));
  return rows.length > 0 ? issues : [...issues, `unknown model: "${model}" is neither a tier nor a model with a price`];
}

export async function catalogue(query: Query, codeTools: readonly string[]): Promise<Known> {
  const rows = await query<KnownTool>(knownTools({ names: [] }));
  return knownAmong([...codeTools, ...rows.flatMap(namesOf)]);
}

export const knownAmong =
  (names: readonly string[]): Known =>
  (entry) =>
    isNamed(names, [entry]);

function namesOf({ server, tool }: KnownTool): readonly string[] {
  if (tool === null) return [];
  return server === null ? [tool] : [`${server}.${tool}`, plainName(`${server}_${tool}`)];
}
