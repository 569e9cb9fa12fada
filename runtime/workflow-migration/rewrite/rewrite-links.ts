import type { Connections, Link, MergePlan, Workflow } from '../contract';
import { agentNames } from '../issue';

type Outputs = readonly (readonly Link[] | null)[];

/** Links to and from the agents, moved to the new nodes; and the nodes that nothing needs any more. */
export function rewriteLinks(
  workflow: Workflow,
  plans: readonly MergePlan[],
): { readonly connections: Connections; readonly gone: ReadonlySet<string> } {
  const planOf = new Map(plans.flatMap((plan) => agentNames(plan.cluster).map((agent) => [agent, plan] as const)));
  const names = new Set(workflow.nodes.map(({ name }) => name));
  const moved = new Map<string, Record<string, Outputs>>();
  for (const [from, byType] of Object.entries(workflow.connections)) {
    const name = planOf.get(from)?.node.name ?? from;
    // All agents of a plan have the same links.
    if (moved.has(name) && name !== from) continue;
    moved.set(
      name,
      mapOutputs(byType, (links) => moveLinks(links, names.has(from) ? from : undefined, planOf)),
    );
  }
  const unused = findUnused(workflow, moved, planOf);
  for (const name of unused) moved.delete(name);
  const connections = Object.fromEntries(
    Array.from(moved, ([name, byType]) => [name, mapOutputs(byType, (links) => withoutLinksTo(links, unused))]),
  );
  const agents = [...planOf].filter(([agent, plan]) => agent !== plan.node.name).map(([agent]) => agent);
  // Links may come from names that no node has.
  return { connections, gone: new Set([...agents, ...unused].filter((name) => names.has(name))) };
}

function mapOutputs(
  byType: Readonly<Record<string, Outputs>>,
  change: (links: readonly Link[]) => readonly Link[],
): Record<string, Outputs> {
  return Object.fromEntries(
    Object.entries(byType).map(([type, outputs]) => [type, outputs.map((links) => links && change(links))]),
  );
}

/** Links from a node that is not there (`from` undefined) lead on as they did; n8n passes over them. */
function moveLinks(
  links: readonly Link[],
  from: string | undefined,
  planOf: ReadonlyMap<string, MergePlan>,
): readonly Link[] {
  const ledTo = new Map<string, string>();
  return links.flatMap((link) => {
    const plan = planOf.get(link.node);
    if (plan === undefined) return [link];
    const to = moveLink(link, from, plan);
    if (to === undefined) return [];
    // What led to several agents leads to one node once; but two links to one agent are two for n8n.
    const key = JSON.stringify([to.node, to.type, to.index]);
    const first = ledTo.get(key) ?? link.node;
    ledTo.set(key, first);
    return first === link.node ? [to] : [];
  });
}

function moveLink(link: Link, from: string | undefined, plan: MergePlan): Link | undefined {
  if (from === undefined || !link.type.startsWith('ai_')) return { ...link, node: plan.node.name };
  const kept = plan.connected.find((one) => one.from === from && one.type === link.type);
  return kept && { ...link, node: plan.node.name, index: kept.index };
}

function withoutLinksTo(links: readonly Link[], gone: ReadonlySet<string>): readonly Link[] {
  return links.some(({ node }) => gone.has(node)) ? links.filter(({ node }) => !gone.has(node)) : links;
}

/** Sub-nodes that were wired to an agent, and to nothing else that is left; then those that were wired to these. */
function findUnused(
  { connections }: Workflow,
  moved: ReadonlyMap<string, Readonly<Record<string, Outputs>>>,
  planOf: ReadonlyMap<string, MergePlan>,
): ReadonlySet<string> {
  const unused = new Set<string>();
  const wasWiredTo = (name: string): readonly string[] =>
    targetsOf(connections[name] ?? {}, (type) => type.startsWith('ai_'));
  for (let grows = true; grows;) {
    grows = false;
    for (const [name, byType] of moved) {
      if (unused.has(name) || planOf.has(name)) continue;
      const isOrphan = wasWiredTo(name).some((target) => planOf.has(target) || unused.has(target));
      if (!isOrphan || targetsOf(byType, () => true).some((target) => !unused.has(target))) continue;
      unused.add(name);
      grows = true;
    }
  }
  keepWhatIsLed(unused, moved);
  return unused;
}

/** What a node that stays leads to stays as well, whatever the link may mean: no link is dropped. */
function keepWhatIsLed(unused: Set<string>, moved: ReadonlyMap<string, Readonly<Record<string, Outputs>>>): void {
  for (let shrinks = true; shrinks;) {
    shrinks = false;
    for (const [name, byType] of moved) {
      const targets = targetsOf(byType, () => true);
      // Kept itself, it leads somewhere; or it is not, and leads to what is kept.
      if (unused.has(name) && targets.some((target) => !unused.has(target))) shrinks = unused.delete(name);
      if (unused.has(name)) continue;
      for (const target of targets) shrinks = unused.delete(target) || shrinks;
    }
  }
}

function targetsOf(byType: Readonly<Record<string, Outputs>>, isWanted: (type: string) => boolean): readonly string[] {
  return Object.entries(byType).flatMap(([type, outputs]) =>
    isWanted(type) ? outputs.flatMap((links) => (links ?? []).map(({ node }) => node)) : [],
  );
}
