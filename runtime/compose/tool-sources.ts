import { DEFAULTS, type ParsedConfig } from '../config/runtime-config';
import type { AgentDefinition } from '../contracts/tenant';
import type { SkillReader } from '../contracts/tools/skill';
import type { McpServers } from '../mcp/mcp-servers';
import { createSqlReader } from '../storage/postgres/sql-reader';
import type { RedisConnection } from '../storage/redis/connection';
import { createRedisReader } from '../storage/redis/key-reader';
import { createServerToolBuilder, createToolBuilder, type ToolBuilderOptions } from '../tools/build-tools';
import type { SqlPort } from '../tools/builtin/builtin-tool';
import { createBuiltinTransport } from '../tools/transports/builtin-transport';
import { createHookTransport } from '../tools/transports/hook-transport';
import { createRestTransport } from '../tools/transports/rest-transport';
import { createWorkflowTransport } from '../tools/transports/workflow-transport';
import { createAgentSource } from '../toolsets/agent-source';
import { createCatalogueSource } from '../toolsets/catalogue-source';
import { combineSources, type SelectTools } from '../toolsets/combine-sources';
import { createConnectedSource } from '../toolsets/connected-source';
import { createMcpSource } from '../toolsets/mcp-source';
import { createPlanSource } from '../toolsets/plan-source';
import { createPluginSource, createTenantSource } from '../toolsets/plugin-source';
import { createSkillSource } from '../toolsets/skill-source';

/** Where the tools of a run come from, in the order in which their names are given. Connects to nothing yet. */
export function createToolSources(
  config: ParsedConfig,
  {
    mcp,
    redis,
    secrets,
    agents,
    skills,
  }: {
    readonly mcp: McpServers;
    readonly redis?: RedisConnection;
    readonly secrets: readonly string[];
    readonly agents: readonly AgentDefinition[];
    readonly skills?: SkillReader;
  },
): { readonly selectTools: SelectTools; readonly close: () => Promise<unknown> } {
  const { transports, close } = createToolTransports(config, redis);
  const builder = {
    transports: { ...transports, mcp: mcp.transport },
    defaultTimeoutMs: config.limits.toolTimeoutMs,
    maxOutputBytes: config.limits.maxToolOutputBytes,
    secrets,
  };
  const codeTools = (config.plugins.tools ?? []).map(({ definition }) => definition.name);
  const sources = [
    createSkillSource(skills, { maxFileBytes: config.limits.maxToolOutputBytes, codeTools }),
    createPlanSource(codeTools),
    createCatalogueSource(createToolBuilder(builder)),
    createAgentSource(),
    createMcpSource(mcp, createServerToolBuilder(builder)),
    createPluginSource(config.plugins.tools ?? []),
    ...(config.plugins.toolSources ?? []).map(createTenantSource),
    createConnectedSource(builder),
  ];
  const selectTools = combineSources(sources, agents);
  return { selectTools, close };
}

interface ToolTransports {
  readonly transports: ToolBuilderOptions['transports'];
  readonly close: () => Promise<unknown>;
}

/** Every way to reach the tools of the catalogue but MCP, with what built-in tools work with. Connects to nothing yet. */
export function createToolTransports(
  { sqlQuery }: Pick<ParsedConfig, 'sqlQuery'>,
  redis?: RedisConnection,
): ToolTransports {
  const keys = redis === undefined ? undefined : createRedisReader(redis);
  const sql = sqlQuery === undefined ? undefined : sqlPort(sqlQuery);
  const transports = {
    hook: createHookTransport(),
    rest: createRestTransport(),
    workflow: createWorkflowTransport(),
    builtin: createBuiltinTransport({ keys, sql }),
  };
  const closers = [
    ...Object.values(transports).map(({ close }) => close),
    ...(sql === undefined ? [] : [sql.reader.close]),
  ];
  return { transports, close: () => Promise.allSettled(closers.map((close) => close())) };
}

function sqlPort({ database, maxRows }: NonNullable<ParsedConfig['sqlQuery']>): SqlPort {
  const maxConnections = Math.min(database.maxConnections, DEFAULTS.sqlMaxConnections);
  return { reader: createSqlReader({ ...database, maxConnections }), maxRows };
}
