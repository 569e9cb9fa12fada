import type { Statement } from '../statement';
import text from './load-tenants.sql';
import { named, withoutParts } from './named';

interface Asked {
  readonly tenantIds: readonly string[];
  readonly modelIds: readonly string[];
  /** Undefined, and no skills: their rows are not read. */
  readonly agent?: string;
  readonly skills?: readonly string[];
  readonly subAgents?: readonly string[];
}

const withAgent = named<Asked>(text);
const withoutAgent = named<Asked>(withoutParts(text));

/** Everything that runs of these tenants need, with the prices of these models. */
export function loadTenantsStatement(asked: Asked): Statement {
  return asked.agent === undefined && asked.skills === undefined ? withoutAgent(asked) : withAgent(asked);
}
