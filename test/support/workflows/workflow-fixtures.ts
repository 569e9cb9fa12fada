import type { MigrationOptions } from '../../../runtime/workflow-migration/contract';
import { agencyFixtures } from './workflow-fixtures-agency';
import { limitFixtures } from './workflow-fixtures-limits';
import { routerFixtures } from './workflow-fixtures-routers';
import { versionFixtures } from './workflow-fixtures-versions';
import { wiringFixtures } from './workflow-fixtures-wiring';
import type { WorkflowFixture } from './workflow-parts';

/** By the name of the file, without `.json`. */
export const WORKFLOW_FIXTURES: Readonly<Record<string, WorkflowFixture>> = {
  ...versionFixtures(),
  ...routerFixtures(),
  ...limitFixtures(),
  ...wiringFixtures(),
  ...agencyFixtures(),
};

/** What every golden migration is made with, beside what the fixture asks for. */
export const MIGRATION_OPTIONS: MigrationOptions = {
  tools: 'database',
  tenant: '11111111-1111-4111-8111-111111111111',
  postgres: { id: 'credential-postgres', name: 'Postgres' },
  allow: [],
};

export function optionsOf({ allow = [], tools = 'database', asked = {} }: WorkflowFixture): MigrationOptions {
  return { ...MIGRATION_OPTIONS, ...asked, allow, tools };
}
