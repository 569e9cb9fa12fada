import type { AgentAdmin } from './agent';
import type { DiagnosticsAdmin } from './diagnostics';
import type { PriceAdmin } from './price';
import type { ApprovalAdmin, AuditAdmin, RunAdmin } from './run';
import type { SecretAdmin } from './secret';
import type { McpServerAdmin, OAuthLoginAdmin } from './server';
import type { SessionAdmin } from './session';
import type { SkillAdmin } from './skill';
import type { TenantAdmin } from './tenant';
import type { TierAdmin } from './tier';
import type { SqlRoleAdmin, ToolAdmin } from './tool';
import type { UsageAdmin } from './usage';

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
  readonly agent: AgentAdmin;
  readonly skill: SkillAdmin;
  readonly mcpServer: McpServerAdmin;
  readonly secret: SecretAdmin;
  readonly oauthLogin: OAuthLoginAdmin;
  readonly price: PriceAdmin;
  readonly tier: TierAdmin;
  readonly usage: UsageAdmin;
  readonly run: RunAdmin;
  readonly session: SessionAdmin;
  readonly approval: ApprovalAdmin;
  readonly audit: AuditAdmin;
  readonly sqlRole: SqlRoleAdmin;
  readonly diagnostics: DiagnosticsAdmin;
}
