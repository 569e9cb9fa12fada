import type { AgentResult } from '../contracts/result';
import { createVaultStore } from '../storage/postgres/vault-store';
import type { JsonObject } from '../util/json';
import type { AdminHost } from './check-address';
import { createDiagnosticsAdmin, type DiagnosticsAdmin } from './diagnostics/diagnostics';
import type { Installation } from './diagnostics/look-at-all';
import type { ListAddress } from './prices/price-source';
import { createPriceAdmin, type PriceAdmin } from './prices/prices';
import { type ApprovalAdmin, createApprovalAdmin, createRunAdmin, type RunAdmin } from './runs';
import { createSecretAdmin, type SecretAdmin } from './secrets';
import { createMcpServerAdmin, type McpServerAdmin } from './servers/mcp-servers';
import { createOAuthLoginAdmin, type OAuthLoginAdmin } from './servers/oauth-logins';
import { createTenantAdmin, type TenantAdmin } from './tenants/tenants';
import { createTierAdmin, type TierAdmin } from './tiers';
import { createToolAdmin, type ToolAdmin } from './tools/tools';
import { createUsageAdmin, type UsageAdmin } from './usage/usage';

/**
 * Administration: one function for each operation, with the same checks and results for the node, the command line and a program.
 *
 * @example
 * const { id } = await runtime.admin.tenant.create({ name: 'Acme', settings: { default_tier: 'pro', monthly_cost_limit_usd: '20' } });
 * await runtime.admin.tool.enable({ tenantId: id, code: 'find_orders' });
 */
export interface Admin {
  readonly tenant: TenantAdmin;
  readonly tool: ToolAdmin;
  readonly mcpServer: McpServerAdmin;
  readonly secret: SecretAdmin;
  readonly oauthLogin: OAuthLoginAdmin;
  readonly price: PriceAdmin;
  readonly tier: TierAdmin;
  readonly usage: UsageAdmin;
  readonly run: RunAdmin;
  readonly approval: ApprovalAdmin;
  readonly diagnostics: DiagnosticsAdmin;
}

/** What administration works with. */
export interface AdminPorts extends Omit<Installation, 'vault'> {
  /** Where the provider lists its models, also when no key for it is configured. */
  readonly listedAt: ListAddress;
  readonly run: (task: JsonObject, host: AdminHost) => Promise<AgentResult>;
  /** Names of the tools of this process. */
  readonly codeTools: readonly string[];
  readonly withPatience: Parameters<typeof createDiagnosticsAdmin>[1];
}

export function createAdmin({ listedAt, run, codeTools, withPatience, ...installation }: AdminPorts): Admin {
  const { postgres, tenantTools, sealer, serverDefaults } = installation;
  const vault = createVaultStore(postgres);
  return {
    tenant: createTenantAdmin(postgres, codeTools),
    tool: createToolAdmin(postgres, tenantTools),
    mcpServer: createMcpServerAdmin({ postgres, tenantTools, defaults: serverDefaults }),
    secret: createSecretAdmin(vault, sealer),
    oauthLogin: createOAuthLoginAdmin({ postgres, tenantTools, sealer }),
    price: createPriceAdmin(postgres, listedAt),
    tier: createTierAdmin(postgres, codeTools),
    usage: createUsageAdmin(postgres),
    run: createRunAdmin(postgres),
    approval: createApprovalAdmin(postgres, run),
    diagnostics: createDiagnosticsAdmin({ ...installation, vault }, withPatience),
  };
}
