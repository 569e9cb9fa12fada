import { type PlanContext, workflowName } from './context';
import type { ClusterReport, MergePlan, Migration, MigrationOptions, MigrationReport, Workflow } from './contract';
import { buildGraph } from './graph';
import { agentNames } from './issue';
import { parseWorkflow } from './parse-workflow';
import { planWorkflow } from './plan/plan-workflow';
import { collectReferences } from './plan/reference-issues';
import { asGiven, readAbsent } from './read-absent';
import { rewriteWorkflow, type Rewritten } from './rewrite/rewrite-workflow';
import { writeSql } from './rewrite/write-sql';
import { subNodeKinds, subNodesOf } from './sub-nodes';
import { v3Flags } from './v3-rules';

/**
 * Puts one Universal AI Agent in the place of the AI Agents of each cluster, where that can be done without a change in
 * behaviour that was not allowed. A workflow that holds nothing of that is left as it is.
 *
 * @param input an exported workflow, parsed
 * @throws RuntimeError WORKFLOW_INVALID
 */
export function migrateWorkflow(input: unknown, asked: MigrationOptions): Migration {
  const given = parseWorkflow(input);
  const workflow = readAbsent(given);
  const options = withV3(asked);
  const context = readContext(workflow, options);
  const { plans, offers } = planWorkflow(context);
  const merges = plans.filter((plan): plan is MergePlan => plan.kind === 'merge');
  const left = plans.flatMap((plan) => (plan.kind === 'leave' ? plan.left : []));
  const name = workflowName(context);
  const reported = name === '' ? UNNAMED : name;
  const agents = new Set(merges.flatMap(({ cluster }) => agentNames(cluster)));
  const v3 = options.v3 === true ? { v3: v3Flags(workflow.nodes, agents) } : {};
  if (merges.length === 0) {
    return { kind: 'unchanged', report: { version: 1, workflow: reported, clusters: [], left, notes: offers, ...v3 } };
  }
  const rewritten = rewriteWorkflow(workflow, merges, options);
  const report: MigrationReport = {
    version: 1,
    workflow: reported,
    clusters: merges.map((plan) => clusterReport(plan, context, rewritten)),
    left,
    notes: [...merges.flatMap(({ notes }) => notes), ...rewritten.notes, ...offers],
    ...v3,
  };
  const migrated = asGiven(rewritten.workflow, { given, read: workflow });
  return { kind: 'migrated', workflow: migrated, sql: writeSql(name, merges, options), report };
}

const UNNAMED = 'unnamed workflow';

/** A mode that n8n 3 has no more has no other future: nobody has to allow that it becomes a tools agent. */
function withV3(options: MigrationOptions): MigrationOptions {
  return options.v3 === true ? { ...options, allow: [...new Set([...options.allow, 'agent-kind' as const])] } : options;
}

function readContext(workflow: Workflow, options: MigrationOptions): PlanContext {
  return {
    workflow,
    options,
    graph: buildGraph(workflow),
    kinds: subNodeKinds(workflow),
    references: collectReferences(workflow),
    names: new Set(workflow.nodes.map((node) => node.name)),
    ids: new Set(workflow.nodes.flatMap(({ id }) => id ?? [])),
    codes: new Map<string, string>(),
    missingTenant: missingTenant(workflow, options),
  };
}

function missingTenant({ nodes, pinData }: Workflow, { tenant }: MigrationOptions): string | undefined {
  const field = /^=\s*\{\{\s*\$json\.([\w$]+)\s*\}\}\s*$/.exec(tenant)?.[1];
  return field === undefined || JSON.stringify([nodes, pinData]).includes(field) ? undefined : field;
}

/** The report of a cluster, with what is gone and what stayed, now that all plans are carried out. */
function clusterReport(plan: MergePlan, { graph, kinds }: PlanContext, { gone }: Rewritten): ClusterReport {
  const agents = plan.cluster.branches.map(({ agent }) => agent);
  const { router, inner } = plan.cluster;
  const routers = [router, ...inner].flatMap((one) => (one === undefined ? [] : [one.node.name]));
  const others = new Set([...subNodesOf(agents, graph, kinds), ...routers]);
  const connected = new Set(plan.connected.map(({ from }) => from));
  const wired = agents.flatMap((agent) =>
    kinds.flatMap((kind) => graph.into(agent, kind).map(({ from }) => from.name)),
  );
  return {
    ...plan.report,
    removed: [...plan.report.agents, ...[...others].filter((name) => gone.has(name))],
    connected: [...connected],
    unwired: [...new Set(wired)].filter((name) => !connected.has(name) && !gone.has(name)),
  };
}
