import type { ToolRow } from '../../contracts/tenant';
import type { ToolPermission } from '../../contracts/tools/permission';
import { RuntimeError } from '../../errors/runtime-error';
import { errorText } from '../../errors/to-runtime-error';
import { readPermission } from '../../permissions/read-tool-rules';
import { refuseUnmatched, unmatchedArguments } from '../../permissions/unmatched-rules';
import { parseTools } from '../../tenants/parse-snapshot';
import { ownRules } from '../../tools/build-tools';
import { checkToolRow } from '../../tools/check-row';
import { whyUnusable } from '../../tools/schemas/validate-input';
import { readSchema, readToolSettings } from '../../tools/tool-settings';
import { checkAddress } from '../check-address';
import type { AdminHost } from '../contract/host';

export const TRANSPORTS = ['hook', 'rest', 'mcp', 'builtin', 'workflow'] as const;
/** Nothing is called, so no time-out is needed. */
const SOME_TIMEOUT_MS = 1000;

/**
 * Reads a tool, as the database gives it, as a run would, and compiles its schema. Throws TOOL_INVALID with the reason,
 * POLICY_INVALID, RULE_UNMATCHED for new rules, or ADDRESS_FORBIDDEN.
 */
export async function checkTool(
  text: string,
  { areRulesNew = true, ...host }: AdminHost & { readonly areRulesNew?: boolean },
): Promise<void> {
  const [row] = parseTools(text);
  if (row === undefined) throw new RuntimeError('TOOL_INVALID', { tool: 'unknown', reason: 'it cannot be read' });
  const reason = await problemOf(row);
  if (reason !== undefined) throw new RuntimeError('TOOL_INVALID', { tool: row.code, reason });
  const rules = ownRules(row.customConfig);
  const permission = rules === undefined ? undefined : readPermission(rules, OWN_RULES);
  if (permission !== undefined && areRulesNew) checkOwnRules(row, permission);
  const { mcp_endpoint: own } = row.customConfig;
  await checkAddress(row.endpoint, host);
  await checkAddress(typeof own === 'string' ? own : null, host);
}

const OWN_RULES = 'custom_config.permissions';

function checkOwnRules(row: ToolRow, rules: ToolPermission): void {
  const schemas = [readSchema(row.parametersSchema)];
  refuseUnmatched(unmatchedArguments(rules, { rule: OWN_RULES, name: row.code, schemas }));
}

async function problemOf(row: ToolRow): Promise<string | undefined> {
  try {
    if (!TRANSPORTS.some((known) => known === row.transport)) {
      throw new Error(`its transport is none of ${TRANSPORTS.join(', ')}`);
    }
    const settings = readToolSettings(withoutSecrets(row), SOME_TIMEOUT_MS);
    checkToolRow(row);
    const unusable = await whyUnusable(settings.inputSchema);
    if (unusable !== undefined) throw new Error(`its parameters_schema does not compile: ${unusable}`);
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

/** References to secrets are opened when the tool is called, and cannot be looked at here. */
function withoutSecrets(row: ToolRow): ToolRow {
  const { auth_header: _auth, headers: _headers, ...customConfig } = row.customConfig;
  return { ...row, authHeader: null, customConfig };
}
