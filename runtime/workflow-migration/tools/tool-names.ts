import type { WorkflowNode } from '../contract';
import { kindOf } from '../parameters';

const MAX_TOOL_NAME = 64;

/** The name that n8n gives a tool after its node. */
export function toolNameOf({ name }: Pick<WorkflowNode, 'name'>): string {
  const plain = name.replace(/[^a-zA-Z0-9_-]+/g, '_');
  return plain.length > MAX_TOOL_NAME ? plain.slice(0, MAX_TOOL_NAME).replace(/[_-]+$/, '') : plain;
}

/** What n8n puts before the names of an MCP server's tools, with `_` between. */
export function serverNameOf({ name }: WorkflowNode): string {
  return name.replace(/[^a-zA-Z0-9]/g, '_');
}

/** Until these versions a tool had its name in a parameter. */
const NAMED_UP_TO: Readonly<Record<string, number>> = { toolWorkflow: 2.1, toolCode: 1.1, toolVectorStore: 1 };

/** How a connected tool is called in an allow-list; undefined where its node does not say. */
export function allowedName(tool: WorkflowNode): string | undefined {
  const kind = kindOf(tool);
  if (kind === 'mcpClientTool') return `${serverNameOf(tool)}_*`;
  const namedUpTo = NAMED_UP_TO[kind];
  if (namedUpTo !== undefined && tool.typeVersion <= namedUpTo) {
    const { name } = tool.parameters;
    return typeof name === 'string' && /^[a-zA-Z0-9_-]{1,64}$/.test(name) ? name : undefined;
  }
  const isAfterNode = namedUpTo !== undefined || kind === 'toolHttpRequest' || /^\w+Tool$/.test(kind);
  return isAfterNode ? toolNameOf(tool) : undefined;
}
