import type { Branch, MigrationOptions, Note, WorkflowNode } from '../contract';
import type { Graph } from '../graph';
import type { Issue } from '../issue';
import { kindOf } from '../parameters';
import { showName } from '../show-name';
import { type Candidate, groupTools, readCandidates } from './group-tools';
import { httpToolRow } from './http-tool-row';
import { mcpServerRow } from './mcp-server-row';
import { oldHttpToolRow } from './old-http-tool-row';
import { allowedName } from './tool-names';
import { isRefusal, type MigratedToolRow, type Refusal } from './tool-row';

export interface ToolsPlan {
  /** Tools that stay connected. */
  readonly connected: readonly WorkflowNode[];
  readonly rows: readonly { readonly node: string; readonly code: string }[];
  readonly statements: readonly string[];
  /** The only tools that the node may use; undefined where the names of connected ones are not known. */
  readonly allowed?: readonly string[];
  /** Rows of it name secrets. */
  readonly needsVault: boolean;
  readonly notes: readonly Note[];
  readonly issues: readonly Issue[];
}

interface ToolsRequest {
  readonly branches: readonly Branch[];
  /** The tier of each branch; undefined where the model stays connected. */
  readonly tiers: readonly (string | undefined)[];
  readonly options: Pick<MigrationOptions, 'tools' | 'tenant'>;
  /** Codes that other tools of this workflow have, with their nodes. */
  readonly codes: ReadonlyMap<string, string>;
  readonly graph: Graph;
}

interface PlannedRow {
  readonly candidate: Candidate;
  readonly row: MigratedToolRow;
}

/** Rows where a row is the same to the model and to the server; everything else stays where it is. */
export function planTools(request: ToolsRequest): ToolsPlan {
  const notes: Note[] = [];
  const planned: PlannedRow[] = [];
  const connected: Candidate[] = [];
  const tryRow = (candidate: Candidate): MigratedToolRow | Refusal => {
    const taken = planned.map(({ candidate: { node }, row }) => [row.code, node.name] as const);
    return refuseTaken(readRow(candidate, request), new Map([...request.codes, ...taken]));
  };
  const place = (candidate: Candidate, row: MigratedToolRow | Refusal | undefined): void => {
    const { node } = candidate;
    if (row === undefined || isRefusal(row)) {
      connected.push(candidate);
      if (row !== undefined) notes.push({ node: node.name, text: `It stays connected: ${row.why}` });
      return;
    }
    planned.push({ candidate, row });
    const name = candidate.nodes[0]?.name ?? node.name;
    notes.push(...row.secrets.map((text) => ({ node: name, text })), ...sharedNotes(candidate, row));
  };
  const isDatabase = request.options.tools === 'database';
  for (const group of groupTools(readCandidates(request.branches), request.branches)) {
    const whole = isDatabase && group.whole !== undefined ? tryRow(group.whole) : undefined;
    if (group.whole !== undefined && whole !== undefined && !isRefusal(whole)) place(group.whole, whole);
    else for (const member of group.members) place(member, isDatabase ? tryRow(member) : undefined);
    notes.push(...(isDatabase ? group.notes : []));
  }
  return toPlan(planned, connected, notes);
}

function toPlan(planned: readonly PlannedRow[], connected: readonly Candidate[], notes: readonly Note[]): ToolsPlan {
  const names = connected.map(({ node }) => allowedName(node));
  return {
    connected: connected.map(({ node }) => node),
    rows: planned.flatMap(({ candidate, row }) => candidate.nodes.map(({ name }) => ({ node: name, code: row.code }))),
    statements: planned.map(({ row }) => row.statement),
    allowed: names.includes(undefined) ? undefined : [...planned.map(({ row }) => row.allowed), ...(names as string[])],
    needsVault: planned.some(({ row }) => row.secrets.length > 0),
    notes,
    issues: connected.flatMap((candidate) => [...sharedIssue(candidate), ...personIssue(candidate)]),
  };
}

/** The model is shown one name where each branch had its own. */
function sharedNotes({ nodes }: Candidate, { code }: MigratedToolRow): readonly Note[] {
  const [first, ...others] = nodes;
  if (first === undefined || others.length === 0) return [];
  const names = others.map(({ name }) => showName(name)).join(', ');
  return [
    { node: first.name, text: `It is one row with ${names}, which are the same: the model sees the name ${code}.` },
  ];
}

function isShared({ ofBranch }: Candidate): boolean {
  return ofBranch.every(Boolean);
}

function readRow(candidate: Candidate, { branches, tiers, options, graph }: ToolsRequest): MigratedToolRow | Refusal {
  const { node, nodes, ofBranch } = candidate;
  const agents = new Set(branches.map(({ agent }) => agent.name));
  // Whatever becomes of the others now, a second run has to find the same.
  if (nodes.some((one) => graph.outOf(one, 'ai_tool').some(({ to }) => !agents.has(to.name)))) {
    return { why: 'other nodes than these agents use it too.' };
  }
  const allowedTiers = isShared(candidate) ? null : tiersOf(ofBranch, tiers);
  if (allowedTiers === undefined) {
    return { why: 'only some of the branches have it, and they do not have tiers of their own.' };
  }
  const kind = kindOf(node);
  const request = { node, allowedTiers: allowedTiers ?? undefined, tenant: options.tenant };
  if (kind === 'httpRequestTool') return httpToolRow(request);
  if (kind === 'toolHttpRequest') return oldHttpToolRow(request);
  if (kind === 'mcpClientTool') return mcpServerRow(request);
  if (kind === 'toolWorkflow') return { why: WORKFLOW_TOOL };
  return { why: `a tool of the kind ${showName(kind)} has no like in the database.` };
}

/** A code means one tool in the whole database. */
function refuseTaken(row: MigratedToolRow | Refusal, taken: ReadonlyMap<string, string>): MigratedToolRow | Refusal {
  if (isRefusal(row)) return row;
  const other = taken.get(row.code);
  return other === undefined ? row : { why: `its name gives the same code as that of ${showName(other)}.` };
}

const WORKFLOW_TOOL =
  'a row of the database calls a workflow by its webhook. Give that workflow a Webhook node and write a row with the transport "workflow" to have it there.';

/** The tiers of the branches that have the tool; undefined when another branch has one of them too. */
function tiersOf(ofBranch: readonly boolean[], tiers: readonly (string | undefined)[]): readonly string[] | undefined {
  const withTool = new Set(tiers.filter((_tier, index) => ofBranch[index] === true));
  const without = tiers.filter((_tier, index) => ofBranch[index] === false);
  if (withTool.has(undefined) || tiers.length !== ofBranch.length) return undefined;
  return without.some((tier) => withTool.has(tier)) ? undefined : ([...withTool] as string[]);
}

function sharedIssue(candidate: Candidate): readonly Issue[] {
  if (isShared(candidate)) return [];
  const name = showName(candidate.node.name);
  const text = `Only some of the branches have the tool ${name}, and it stays connected. Connect it to all of them, or make a row of the database of it.`;
  return [{ reason: 'several-toolsets', text }];
}

/** Such a node asks a person before it calls the tool behind it, which n8n does for its own agents alone. */
function personIssue({ node }: Candidate): readonly Issue[] {
  if (!node.type.endsWith('HitlTool')) return [];
  const text = `Its tool ${showName(node.name)} asks a person before each call, which n8n does for its own agents alone. Wire the tool behind it, and set its decision to ask in the node.`;
  return [{ reason: 'human-review', text }];
}
