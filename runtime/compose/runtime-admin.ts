import type { Admin } from '../admin/contract/admin';
import { lazyAdmin } from '../admin/lazy-admin';
import type { AdminPorts } from '../admin/operation';
import { ASK } from '../agents/agent-schema';
import { DEFAULTS, type ParsedConfig } from '../config/runtime-config';
import { RuntimeError } from '../errors/runtime-error';
import { createPostgres, type Postgres } from '../storage/postgres/pool';
import { PLAN_TOOLS } from '../toolsets/plan-source';
import { LOAD_SKILL } from '../toolsets/skill-source';
import { MCP_SERVER_DEFAULTS } from './mcp-defaults';

interface RuntimePorts extends Pick<AdminPorts, 'tenantTools' | 'sealer' | 'redis' | 'run'> {
  readonly postgres?: Postgres;
}

/** Administration with what the runtime has opened. It is loaded and made with its first use. */
export function createRuntimeAdmin(config: ParsedConfig, { postgres, ...ports }: RuntimePorts): Admin {
  let made: Promise<Admin> | undefined;
  return lazyAdmin(() => (made ??= make(config, postgres, ports)));
}

async function make(
  { database, model, plugins }: ParsedConfig,
  postgres: Postgres | undefined,
  ports: Omit<RuntimePorts, 'postgres'>,
): Promise<Admin> {
  if (database === undefined || postgres === undefined) {
    throw new RuntimeError('CONFIG_INVALID', { issues: 'administration needs a database' });
  }
  const { createAdmin } = await import('../admin/create-admin');
  const { apiKey, baseUrl } = model ?? { apiKey: '', baseUrl: DEFAULTS.baseUrl };
  const listedAt = { url: `${baseUrl.replace(/\/+$/, '')}/models`, ...(apiKey === '' ? {} : { apiKey }) };
  return createAdmin({
    ...ports,
    postgres,
    serverDefaults: MCP_SERVER_DEFAULTS,
    codeTools: [
      ...(plugins.tools ?? []).map(({ definition }) => definition.name),
      ...(plugins.agents ?? []).map(({ name }) => `${ASK}_${name}`),
      ...[LOAD_SKILL, ...PLAN_TOOLS],
    ],
    codeAgents: plugins.agents ?? [],
    listedAt,
    provider: apiKey === '' ? undefined : listedAt,
    withPatience: async (work) => {
      const patient = createPostgres({ ...database, queryTimeoutMs: 0 });
      try {
        return await work(patient);
      } finally {
        await patient.close();
      }
    },
  });
}
