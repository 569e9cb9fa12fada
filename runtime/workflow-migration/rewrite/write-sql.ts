import { isUuid } from '../../util/clock';
import type { MergePlan, MigrationOptions } from '../contract';
import { sqlComment } from '../sql-text';

/** The rows that the new nodes need, as one transaction; empty when they need none. */
export function writeSql(workflow: string, plans: readonly MergePlan[], { tenant }: MigrationOptions): string {
  const statements = [...new Set(plans.flatMap((plan) => plan.statements))];
  if (statements.length === 0) return '';
  const hasTools = plans.some(({ report }) => report.tools.length > 0);
  const hasTiers = plans.some(({ report }) => report.tiers.some(({ isNew }) => isNew));
  return [
    sqlComment(workflow === '' ? 'Rows for an unnamed workflow.' : `Rows for the workflow "${workflow}".`),
    ...(hasTools && !isUuid(tenant) ? [TENANT_COMMENT] : []),
    ...(hasTiers ? [TIER_COMMENT] : []),
    ...(hasTools ? [TOOL_COMMENT] : []),
    ENCODING,
    'BEGIN;',
    '',
    ...plans.flatMap((plan) => planLines(plan, statements)),
    'COMMIT;',
    '',
  ].join('\n');
}

/**
 * psql takes the bytes of a file for those of the machine's own alphabet, in some of which the quote that ends a literal is
 * half a letter, and what stands in the next one could be a command of psql. Not for the transaction only, since one that
 * failed would bring the old alphabet back.
 */
const ENCODING = "SET client_encoding = 'UTF8';";

const TENANT_COMMENT = sqlComment(
  'Run it for every tenant that uses the workflow, with psql:\npsql "$DATABASE_URL" -v ON_ERROR_STOP=1 -v tenant_id=ID -f FILE',
);
const TIER_COMMENT = sqlComment(
  "Tiers: a tenant with settings.max_tier may use a new tier only once it has a rank (nano 1, small 2, optima 3, pro 4, expert 5):\nUPDATE elo_agent_tiers SET rank = 3 WHERE code = '...';\nA tenant with a money limit needs a price for the model: a row in elo_model_pricing.",
);
const TOOL_COMMENT = sqlComment(
  'Tools: what stands as vault:NAME is a secret that this file does not hold. Put it into the vault for each tenant:\nuniversal-ai-agent secret set --tenant ID --name NAME',
);

/** What several nodes need stands where the first of them does. */
function planLines(plan: MergePlan, statements: readonly string[]): readonly string[] {
  if (plan.statements.length === 0) return [];
  const { report } = plan;
  const lines = [
    sqlComment(`For the node "${report.node}", which stands for: ${report.agents.join(', ')}.`),
    ...report.tiers.filter(({ isNew }) => isNew).map(({ code, agent }) => sqlComment(`Tier ${code}: ${agent}.`)),
    ...report.tools.map(({ code, node }) => sqlComment(`Tool ${code}: ${node}.`)),
    ...plan.notes.filter(({ text }) => text.includes('into the vault')).map(({ text }) => sqlComment(text)),
    ...plan.statements.filter((one) => statements.includes(one)),
  ];
  return [...lines, ''];
}
