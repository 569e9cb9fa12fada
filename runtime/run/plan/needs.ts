import type { SavedRun } from '../../contracts/ledger/progress';
import type { HostOptions } from '../../contracts/run';
import type { Toolset } from '../../contracts/tools/tool';
import { RuntimeError } from '../../errors/runtime-error';

export const SQL_ROLE = 'the SQL role';
export const REDIS = 'Redis';
/** Services that built-in tools need. */
const SERVICES: Readonly<Record<string, string>> = { sql_query: SQL_ROLE, redis_get: REDIS };

/** Returns the resources of the host that a run uses. The words are stored with waiting runs, so they must not change. */
export function needsOf(host: HostOptions, toolset: Toolset, services: readonly string[] = []): readonly string[] {
  const used = Object.entries(SERVICES).flatMap(([tool, service]) => (toolset.find(tool) === undefined ? [] : service));
  return [...connectedTo(host), ...used.filter((service) => services.includes(service))];
}

/** Throws APPROVAL_INCOMPLETE if a waiting run would resume without a resource that it started with. */
export function refuseIncomplete(
  runId: string,
  { needs = [] }: SavedRun,
  { host, services = [] }: { readonly host: HostOptions; readonly services?: readonly string[] },
): void {
  const here = new Set([...connectedTo(host), ...services]);
  const missing = needs.filter((need) => !here.has(need));
  if (missing.length > 0) throw new RuntimeError('APPROVAL_INCOMPLETE', { runId, missing: missing.join(', ') });
}

function connectedTo({ connected = {}, mcpServers = [] }: HostOptions): readonly string[] {
  const { model, fallback, memory, format, tools = [] } = connected;
  const parts = [
    [model, 'the chat model'],
    [fallback, 'the fallback model'],
    [memory, 'the memory'],
    [format, 'the output format'],
  ] as const;
  return [
    ...parts.flatMap(([part, word]) => (part === undefined ? [] : word)),
    ...tools.map(({ definition: { name } }) => `the tool "${name}"`),
    ...mcpServers.map(({ name }) => `the MCP server "${name}"`),
  ];
}
