import { caller, family, internal } from './code-row';
import { ADMIN_CODES } from './codes/admin';
import { BILLING_CODES } from './codes/billing';
import { LEDGER_CODES } from './codes/ledger';
import { MCP_CODES } from './codes/mcp';
import { MODELS_CODES } from './codes/models';
import { NODES_CODES } from './codes/nodes';
import { QUEUE_CODES } from './codes/queue';
import { RUN_CODES } from './codes/run';
import { STORAGE_CODES } from './codes/storage';
import { TASKS_CODES } from './codes/tasks';
import { TENANTS_CODES } from './codes/tenants';
import { TOOLS_CODES } from './codes/tools';
import { VAULT_CODES } from './codes/vault';
import { WORKFLOW_MIGRATION_CODES } from './codes/workflow-migration';

export type { ErrorCategory, ErrorKind, ErrorScope } from './code-row';

/**
 * The one error table: it drives retries, n8n error texts, tool messages, CLI output and docs/errors.md.
 * A code, once published, keeps its meaning.
 */
export const ERROR_CODES = {
  ...TASKS_CODES,
  ...NODES_CODES,
  ...TENANTS_CODES,
  ...MODELS_CODES,
  ...TOOLS_CODES,
  ...MCP_CODES,
  ...RUN_CODES,
  ...LEDGER_CODES,
  ...BILLING_CODES,
  ...VAULT_CODES,
  ...STORAGE_CODES,
  ...QUEUE_CODES,
  ...WORKFLOW_MIGRATION_CODES,
  ...ADMIN_CODES,
  ...family('This package and its configuration', {
    CONFIG_INVALID: caller('The configuration is not valid: {issues}.', 'Correct the setting that the message names.'),
    INTERNAL_ERROR: internal('Something unexpected went wrong: {reason}', 'Report it with the code and the message.'),
  }),
};

export type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}
