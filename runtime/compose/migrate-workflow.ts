import type { Migration, MigrationOptions } from '../workflow-migration/contract';

/**
 * Rewrites an exported workflow, parsed; what the command `migrate-workflow` does with one file. Loaded when it is first
 * called: no run needs it. Rejects with WORKFLOW_INVALID.
 */
export async function migrateWorkflow(workflow: unknown, options: Partial<MigrationOptions> = {}): Promise<Migration> {
  const migration = await import('../workflow-migration/migrate-workflow');
  const given = Object.entries(options as Readonly<Record<string, unknown>>).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return migration.migrateWorkflow(workflow, { ...DEFAULTS, ...(Object.fromEntries(given) as typeof options) });
}

const DEFAULTS: MigrationOptions = { tools: 'database', tenant: '={{ $json.tenant_id }}', allow: [] };
