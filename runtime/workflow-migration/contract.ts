import type { Tier } from '../contracts/tenant';
import type { JsonObject } from '../util/json';

/** An exported workflow of n8n. What is not named here is kept as it is. */
export interface Workflow {
  readonly name?: string;
  readonly nodes: readonly WorkflowNode[];
  readonly connections: Connections;
  readonly pinData?: JsonObject | null;
  readonly [more: string]: unknown;
}

export interface WorkflowNode {
  readonly id?: string;
  readonly name: string;
  readonly type: string;
  readonly typeVersion: number;
  readonly position: readonly [number, number];
  readonly parameters: JsonObject;
  readonly credentials?: Readonly<Record<string, CredentialRef>>;
  readonly disabled?: boolean;
  readonly notes?: string;
  readonly onError?: string;
  readonly [more: string]: unknown;
}

/** A credential by its id; older exports have the name alone. */
export interface CredentialRef {
  readonly id?: string | null;
  readonly name: string;
}

/** Links from a node's name, by kind of connection (`main`, `ai_tool` ...), by output, to where it goes. */
export type Connections = Readonly<Record<string, Readonly<Record<string, readonly (readonly Link[] | null)[]>>>>;

export interface Link {
  readonly node: string;
  readonly type: string;
  readonly index: number;
}

export interface MigrationOptions {
  /** `database`: tools become rows where they can; `connected`: they stay where they are, wired to the new node. */
  readonly tools: 'database' | 'connected';
  /** The tenant of the new nodes: an id, or an expression such as `={{ $json.tenant_id }}`. */
  readonly tenant: string;
  /** The Postgres credential of the new nodes; without one they are left to be completed in the editor. */
  readonly postgres?: CredentialRef;
  /** Names of changes in behaviour that are accepted; see ALLOWANCES. */
  readonly allow: readonly Allowance[];
  /** The database's own names: from a tier code of the report, an agent's name or a model id to a tier that is there. */
  readonly tierMap?: ReadonlyMap<string, string>;
  /** The tiers of the database; the five that a new one has, where they are not known. */
  readonly tiers?: readonly Tier[];
  /** Routers that do nothing else than choose the branch go too. */
  readonly dropRouter?: boolean;
  /** Agents behind a router that cannot become one node are migrated one by one; the router stays. */
  readonly each?: boolean;
  /** Names the workflow in rows and report if the export has no name of its own; the command passes the file's. */
  readonly fallbackName?: string;
  /** Only what n8n 3 no longer runs is migrated, and every such node is in the report. */
  readonly v3?: boolean;
}

/** Changes in behaviour that are refused unless they are allowed by name. */
export const ALLOWANCES = [
  /** The agents were no tools agents (conversational, ReAct, plan and execute): their prompts were others. */
  'agent-kind',
  /** Nodes after the agents run once with all items instead of once a branch. */
  'merged-runs',
  /** Options of the model, the agent or a tool that our node has no like for are dropped. */
  'dropped-options',
  /** Expressions in other nodes that read what the new node does not give. */
  'expressions',
  /** A memory whose keys are others afterwards, so that its history begins anew. */
  'memory-keys',
  /** Items that no rule of a dropped router takes go to the last branch instead of nowhere. */
  'unmatched-items',
] as const;
export type Allowance = (typeof ALLOWANCES)[number];

/** What became of one workflow. Times and random ids are in none of it: the same input gives the same output. */
export type Migration =
  | { readonly kind: 'migrated'; readonly workflow: Workflow; readonly sql: string; readonly report: MigrationReport }
  /** Left as it is. */
  | { readonly kind: 'unchanged'; readonly report: MigrationReport };

export interface MigrationReport {
  readonly version: 1;
  readonly workflow: string;
  readonly clusters: readonly ClusterReport[];
  /** Agents that were not migrated, with what would make them so; one entry an agent and reason. */
  readonly left: readonly LeftAgent[];
  /** What a person has to do or know, each by the name of a node. */
  readonly notes: readonly Note[];
  /** The nodes, with `v3`, that n8n's own rules for version 3 name. */
  readonly v3?: readonly FlaggedAgent[];
}

/** A node that n8n 3 no longer runs as it is, and what became of it here. */
export interface FlaggedAgent {
  readonly node: string;
  /** The id of n8n's rule. */
  readonly rule: 'agent-node-version-v3' | 'agent-removed-modes-v3';
  readonly text: string;
  readonly outcome: 'migrated' | 'left';
}

export interface ClusterReport {
  /** The name of the new node. */
  readonly node: string;
  /** The router in front of it, when there was one. */
  readonly router?: string;
  /** The agents that it stands for. */
  readonly agents: readonly string[];
  /** Nodes that are gone, the agents among them. */
  readonly removed: readonly string[];
  /** Nodes that were connected to the agents and are connected to the new node. */
  readonly connected: readonly string[];
  /** Nodes that were wired to the agents and are not to the new node; they stay for the sake of others. */
  readonly unwired: readonly string[];
  readonly tiers: readonly TierReport[];
  /** Tools that became rows. */
  readonly tools: readonly { readonly node: string; readonly code: string }[];
}

export interface TierReport {
  readonly code: string;
  readonly model: string;
  readonly agent: string;
  /** True for a tier whose row is added. */
  readonly isNew: boolean;
}

export interface LeftAgent extends Reason {
  readonly node: string;
  /** Set when the change may be allowed by this name. */
  readonly allowance?: Allowance;
}

export interface Note {
  readonly node: string;
  readonly text: string;
  readonly allowance?: Allowance;
  /** Set for a router that goes, with `dropRouter`, only once these are allowed. */
  readonly needs?: readonly Allowance[];
}

/** Agents that one node can stand for. Every agent of a workflow, a disabled one too, is in exactly one cluster. */
export interface Cluster {
  /** The outermost router; undefined for a lone agent. */
  readonly router?: Router;
  /** Routers behind it (an IF behind a Switch, the next IF of a cascade); their links are in `Branch.from`. */
  readonly inner: readonly Router[];
  /** The branches in the order in which the router decides. */
  readonly branches: readonly Branch[];
  /**
   * Why this agent stands alone although a router leads to it, or is not to be migrated (`disabled`).
   * Migrating it by itself changes nothing: only merging it with others would.
   */
  readonly alone?: Reason;
}

export interface Reason {
  /** A word for programs, such as `several-providers`. */
  readonly reason: string;
  /** A sentence for people: why, and what to do. */
  readonly text: string;
}

export interface Branch {
  readonly agent: WorkflowNode;
  /** The outputs that lead to the agent: more than one when several rules choose it, none for a lone agent. */
  readonly from: readonly RouterOutput[];
  /**
   * A JavaScript expression without braces that holds for an item that came through one of the cluster's outputs
   * and for which no earlier branch's condition holds. The last branch has none: what is left is its own.
   * Write the branches as `when1 ? a : when2 ? b : c`. The last branch of a Model Selector has one when its rules leave
   * items over: those failed. It may name other nodes, `$('Name')`, of which some may be gone.
   */
  readonly when?: string;
  /** The chat model, then the fallback model. */
  readonly models: readonly WorkflowNode[];
  readonly memory?: WorkflowNode;
  readonly parser?: WorkflowNode;
  readonly tools: readonly WorkflowNode[];
}

export interface RouterOutput {
  readonly node: string;
  readonly output: number;
}

export interface Router {
  readonly node: WorkflowNode;
  readonly kind: 'switch' | 'if' | 'filter' | 'model-selector';
}

export type ClusterPlan = MergePlan | LeavePlan;

export interface MergePlan {
  readonly kind: 'merge';
  readonly cluster: Cluster;
  /** The new node, complete. */
  readonly node: WorkflowNode;
  /** Nodes that were connected to the agents and are connected to the new node: `index` of its inputs of this type. */
  readonly connected: readonly { readonly from: string; readonly type: string; readonly index: number }[];
  /** Connected nodes with other parameters. */
  readonly changed: readonly WorkflowNode[];
  /** Rules of the router that lead to the cluster may become one. */
  readonly mergesRuns: boolean;
  readonly statements: readonly string[];
  /** What is gone and what is connected is known once all plans are carried out. */
  readonly report: ClusterReport;
  readonly notes: readonly Note[];
}

interface LeavePlan {
  readonly kind: 'leave';
  readonly cluster: Cluster;
  readonly left: readonly LeftAgent[];
}
