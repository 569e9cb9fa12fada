import type { MigrationOptions, Workflow } from './contract';
import type { FoundReference } from './expressions/references';
import type { Graph } from './graph';
import { showName } from './show-name';

/** What the plans of one workflow share. */
export interface PlanContext {
  readonly workflow: Workflow;
  readonly graph: Graph;
  /** The kinds of links from sub-nodes. */
  readonly kinds: readonly string[];
  readonly options: MigrationOptions;
  /** References by the name of the node that they read. */
  readonly references: ReadonlyMap<string, readonly FoundReference[]>;
  /** Names that a new node cannot have; those of planned nodes are added. */
  readonly names: Set<string>;
  /** The ids of all nodes, those that are planned too. */
  readonly ids: Set<string>;
  /** The codes that are taken by tools of this workflow, with the node of each; those of planned tools are added. */
  readonly codes: Map<string, string>;
  /** The field of the items that the tenant is read from, where nothing in the workflow names it. */
  readonly missingTenant?: string;
}

/** The workflow's name, or the fallback; empty without either. */
export function workflowName({ workflow, options }: Pick<PlanContext, 'workflow' | 'options'>): string {
  return [workflow.name, options.fallbackName].find((name = '') => showName(name) !== '') ?? '';
}
