import type { PlanContext } from '../context';
import type { Branch, ClusterPlan, Note } from '../contract';
import { agentNames } from '../issue';
import { findClusters, loneCluster } from '../routers/find-clusters';
import { planCluster } from './plan-cluster';

interface WorkflowPlan {
  readonly plans: readonly ClusterPlan[];
  /** Notes on routers whose agents `each` would migrate. */
  readonly offers: readonly Note[];
}

/** Plans each cluster as a whole, then the agents of each cluster that is left one by one. */
export function planWorkflow(context: PlanContext): WorkflowPlan {
  const whole = findClusters(context.workflow).map((cluster) => planCluster(cluster, context));
  // Only now, so that no agent takes the code of a tool from a cluster that becomes one node.
  const apart = whole.map((plan) => planApart(plan, context));
  if (context.options.each === true) return { plans: apart.flat(), offers: [] };
  return { plans: whole, offers: whole.flatMap((plan, index) => offersOf(plan, apart[index] ?? [])) };
}

function planApart(plan: ClusterPlan, context: PlanContext): readonly ClusterPlan[] {
  if (plan.kind === 'merge' || agentNames(plan.cluster).length === 1) return [plan];
  return plan.cluster.branches.map((branch) => planAlone(branch, context));
}

/** A Model Selector that cannot become tiers stays connected, as it would for all agents behind the router. */
function planAlone({ when: _when, ...branch }: Branch, context: PlanContext): ClusterPlan {
  const plan = planCluster(loneCluster(branch.agent, context.graph), context);
  if (plan.kind === 'merge' || plan.cluster.router === undefined) return plan;
  const connected = planCluster({ inner: [], branches: [{ ...branch, from: [] }] }, context);
  return connected.kind === 'merge' ? connected : plan;
}

function offersOf({ kind, cluster }: ClusterPlan, apart: readonly ClusterPlan[]): readonly Note[] {
  const count = apart.filter((plan) => plan.kind === 'merge').length;
  if (kind === 'merge' || count === 0 || cluster.router === undefined) return [];
  const text = `--each migrates ${count} of its ${apart.length} agents one by one.`;
  return [{ node: cluster.router.node.name, text }];
}
