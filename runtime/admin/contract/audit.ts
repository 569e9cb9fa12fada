import type { JsonObject } from '../../util/json';

/** The record of tool calls. */
export interface AuditAdmin {
  /** The newest first, at most 1,000 of a tenant, with what was decided on each. Rejects with TENANT_NOT_FOUND. */
  readonly list: (query: {
    readonly tenantId: string;
    /** Only the calls of this task. */
    readonly taskId?: string;
  }) => Promise<{ readonly calls: readonly JsonObject[] }>;
}
