import * as z from 'zod/v4';

import { readInput } from '../admin/read-input';
import type { Tier } from '../contracts/tenant';
import { strictObject } from '../util/known-keys';
import { ALLOWANCES, type Migration, type MigrationOptions } from '../workflow-migration/contract';

/**
 * Rewrites an exported workflow, parsed; what the command `migrate-workflow` does with one file. Loaded when it is first
 * called: no run needs it. Rejects with WORKFLOW_INVALID, and with ADMIN_INPUT_INVALID for options that it does not know.
 */
export async function migrateWorkflow(workflow: unknown, options: Partial<MigrationOptions> = {}): Promise<Migration> {
  const migration = await import('../workflow-migration/migrate-workflow');
  const given = Object.entries(options as Readonly<Record<string, unknown>>).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return migration.migrateWorkflow(workflow, readInput(shape, Object.fromEntries(given), 'migrateWorkflow'));
}

const shape: z.ZodType<MigrationOptions> = strictObject({
  tools: z.enum(['database', 'connected']).default('database'),
  tenant: z.string().default('={{ $json.tenant_id }}'),
  postgres: z.looseObject({ id: z.string().nullish(), name: z.string() }).optional(),
  allow: z.array(z.enum(ALLOWANCES)).default([]),
  tierMap: z.map(z.string(), z.string()).optional(),
  tiers: z.array(z.custom<Tier>()).optional(),
  ...{ dropRouter: z.boolean().optional(), each: z.boolean().optional(), v3: z.boolean().optional() },
  fallbackName: z.string().optional(),
});
