import { isOfServer } from '../../permissions/allowed-tools';
import { refuseUnmatched, type RuledTool, type RulesAt, unmatchedRules } from '../../permissions/unmatched-rules';
import { type KnownTool, knownTools } from '../../storage/sql/admin/manage-tools';
import type { Query } from '../../storage/statement';
import { plainName } from '../../tools/offered-names';
import { readSchema } from '../../tools/tool-settings';

/**
 * Compares rules with the catalogue, the tools of this process and the listed tools of MCP servers. Rejects with RULE_UNMATCHED
 * for an unknown tool or an undeclared argument; names of a server's unlisted tools pass.
 */
export async function checkRules(
  query: Query,
  levels: readonly RulesAt[],
  codeTools: readonly string[],
): Promise<void> {
  const names = levels.flatMap(namesIn);
  if (names.length === 0) return;
  const rows = await query<KnownTool>(knownTools({ names }));
  const servers = [...new Set(rows.flatMap(({ server }) => server ?? []))];
  const isElsewhere = (name: string): boolean => servers.some((server) => isOfServer(name, server));
  // The author is at hand, so each name is checked.
  const all = levels.map((level) => ({ ...level, isOwn: true }));
  refuseUnmatched(await unmatchedRules(all, [...rows.flatMap(toRuled), { names: codeTools }], isElsewhere));
}

function namesIn({ enabled = [], disabled, permissions }: RulesAt): readonly string[] {
  return [...enabled, ...disabled, ...permissions.map(({ name }) => name)];
}

function toRuled({ server, tool, schema }: KnownTool): readonly RuledTool[] {
  if (tool === null) return [];
  const names = server === null ? [tool] : [`${server}.${tool}`, plainName(`${server}_${tool}`)];
  return [{ names, schema: schemaOf(schema) }];
}

/** Returns undefined for a schema that cannot be read. */
function schemaOf(text: string | null): RuledTool['schema'] {
  try {
    return readSchema(text);
  } catch {
    return undefined;
  }
}
