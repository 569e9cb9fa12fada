import type { IExecuteFunctions } from 'n8n-workflow';

/** Whether the node runs as a tool of another agent: n8n makes a node type of its own of that, without inputs. */
export function isToolVariant(context: IExecuteFunctions): boolean {
  return context.getNode().type.endsWith('Tool');
}
