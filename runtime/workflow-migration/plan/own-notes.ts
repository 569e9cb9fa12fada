import { disabledParts } from '../attachments';
import type { PlanContext } from '../context';
import type { Cluster, Note, WorkflowNode } from '../contract';
import { kindOf, parameterAt } from '../parameters';
import { showName } from '../show-name';
import type { NodeParts } from './plan-parts';

interface NotesRequest {
  readonly cluster: Cluster;
  readonly parts: NodeParts;
  readonly node: WorkflowNode;
}

/** What a person has to do or know, whatever was allowed. */
export function ownNotes(request: NotesRequest, context: PlanContext): readonly Note[] {
  const texts = [...toDo(request, context), ...toKnow(request)];
  return texts.flatMap((text) => (text === undefined ? [] : [{ node: request.node.name, text }]));
}

type Texts = readonly (string | undefined)[];

function toDo({ cluster, parts: { model, tools } }: NotesRequest, context: PlanContext): Texts {
  const { options, missingTenant } = context;
  const hasModel = model.credential !== undefined || model.connected.length > 0;
  return [
    options.postgres === undefined ? 'Choose its Postgres credential in the editor.' : undefined,
    hasModel ? undefined : 'Choose the credential of its model provider in the editor.',
    tools.needsVault
      ? 'Choose its Vault Key credential in the editor: secrets of its tools are in the vault now.'
      : undefined,
    missingTenant === undefined ? undefined : tenantNote(missingTenant),
    tools.allowed === undefined ? ANY_TOOL : disabledNote(cluster, context),
  ];
}

function toKnow({ cluster, parts, node }: NotesRequest): Texts {
  const { memory, parser } = parts;
  const { changed } = memory;
  return [
    passesFiles(cluster) ? 'Images and text files in the items are not shown to the model.' : undefined,
    parser.hasOutputParser ? OTHER_WORDS : undefined,
    goesOnAfterErrors(node) ? OTHER_ERROR : undefined,
    cluster.alone?.text,
    changed && `Its memory ${changed.name} keeps the histories of the branches apart by its key, as before.`,
    keepsMore(cluster) ? LONGER_TURNS : undefined,
    ...newerThanKnown(cluster, parts),
  ];
}

/** The newest versions that were looked at, in n8n 2.41. */
const KNOWN_VERSIONS: Readonly<Record<string, number>> = {
  ...{ agent: 3.1, switch: 3.4, if: 2.3, filter: 2.3, modelSelector: 1 },
  ...{ lmChatOpenAi: 1.3, lmChatOpenRouter: 1, httpRequestTool: 4.5, toolHttpRequest: 1.1, mcpClientTool: 1.4 },
};

/** Notes on nodes whose place the new one takes; those that stay connected go on as they are. */
function newerThanKnown({ router, inner, branches }: Cluster, { model, tools }: NodeParts): Texts {
  const routers = [router, ...inner].flatMap((one) => (one === undefined ? [] : [one.node]));
  const rows = new Set(tools.rows.map(({ node }) => node));
  const read = branches.flatMap((branch) => [
    branch.agent,
    ...(model.connected.length > 0 ? [] : branch.models.slice(0, 1)),
    ...branch.tools.filter(({ name }) => rows.has(name)),
  ]);
  return [...new Set([...routers, ...read])].map((one) => {
    const known = KNOWN_VERSIONS[kindOf(one)] ?? Infinity;
    if (one.typeVersion <= known) return undefined;
    return `${showName(one.name)} is of version ${one.typeVersion}, read as ${known}, the newest that is known here: compare its options.`;
  });
}

const ANY_TOOL =
  'It may use all tools of its tenant, since the names of connected tools are not known: limit them under Tool Names or IDs if the tenant has others.';

const OTHER_WORDS =
  'The model is asked for the form of its answer in other words. The tool that takes it has the same name and parameters.';

const OTHER_ERROR = 'The text of an error is another one.';

const LONGER_TURNS =
  'Its memory keeps tool calls too, which this version of the agent did not: its Context Window Length holds fewer turns. Raise it where too little is remembered.';

function disabledNote({ branches: [first] }: Cluster, { graph }: PlanContext): string | undefined {
  const tools = first === undefined ? [] : disabledParts(first.agent, graph).filter(({ type }) => type === 'ai_tool');
  if (tools.length === 0) return undefined;
  const names = tools.map(({ from }) => showName(from)).join(', ');
  return `Its tools are those under Tool Names or IDs. Who enables ${names} again has to add the name there.`;
}

function tenantNote(field: string): string {
  return `Its tenant is the field ${field} of the item, which nothing in this workflow names: an item without it fails. Choose the tenant in the node, or migrate with --tenant.`;
}

function goesOnAfterErrors({ continueOnFail, onError }: WorkflowNode): boolean {
  return continueOnFail === true || (typeof onError === 'string' && onError.startsWith('continue'));
}

function passesFiles({ branches }: Cluster): boolean {
  return branches.some(({ agent }) => parameterAt(agent.parameters, 'options.passthroughBinaryImages') === undefined);
}

const KEEPS_TOOL_CALLS_FROM = 3;

function keepsMore({ branches }: Cluster): boolean {
  return branches.some(
    ({ agent, memory, tools }) => agent.typeVersion < KEEPS_TOOL_CALLS_FROM && memory !== undefined && tools.length > 0,
  );
}
