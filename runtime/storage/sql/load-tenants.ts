import text from './load-tenants.sql';
import { named } from './named';

/** Everything that runs of these tenants need, with the prices of these models. */
export const loadTenantsStatement = named<{
  readonly tenantIds: readonly string[];
  readonly modelIds: readonly string[];
  /** Undefined: no agent's rows are read. */
  readonly agent?: string;
}>(text);
