import {
  type IExecuteFunctions,
  type INode,
  type INodeExecutionData,
  type IRunExecutionData,
  type ISupplyDataFunctions,
  NodeConnectionTypes,
  NodeHelpers,
} from 'n8n-workflow';

import { internals, isTool, type SeesItems } from './engine-request';

/** The node that asks a sub-node for what it supplies, as far as it is known. */
export interface Caller {
  /** Undefined where n8n does not tell: the items may be anybody's then. */
  readonly node?: INode;
  /** The node that asks a person before each call. */
  readonly review?: INode;
  readonly context: SeesItems;
  readonly items: readonly INodeExecutionData[];
  readonly runIndex: number;
  /** Milliseconds. Executions of two n8n on one database have the same numbers. */
  readonly startedAt?: number;
}

/** The node that reads what a sub-node supplies, or the one behind it that a person is asked for. */
export function callerOf(context: ISupplyDataFunctions): Caller {
  const { workflow, parentNode: node, connectionInputData: items, runIndex, runExecutionData } = internals(context);
  const seen = { context, items, runIndex, startedAt: startOf(runExecutionData) };
  if (node === undefined || !NodeHelpers.isHitlToolType(node.type)) return { node, ...seen };
  const behind = workflow.getChildNodes(node.name, NodeConnectionTypes.AiTool, 1).flatMap((name) => {
    const agent = workflow.getNode(name);
    return agent === null ? [] : [agent];
  });
  // One that a model writes the items of stands for all.
  return { node: behind.find((one) => isTool(workflow, one)) ?? behind[0], review: node, ...seen };
}

export function startOf(run: IRunExecutionData | null): number | undefined {
  return run?.executionData?.runtimeData?.establishedAt;
}

/**
 * Number of items of the agent above one that is itself a tool: what the latter is given tells nothing of them. The engine keeps the
 * agent above until the call is over; where no engine calls, the items are its own.
 */
export function itemsAbove(context: ISupplyDataFunctions | IExecuteFunctions, { node, items }: Caller): number {
  const stack = internals(context).runExecutionData?.executionData?.nodeExecutionStack ?? [];
  const above = stack.filter(({ metadata }) =>
    (metadata?.subNodeExecutionData?.actions ?? []).some(({ nodeName }) => nodeName === node?.name),
  );
  return Math.max(items.length, ...above.map(({ data }) => data.main?.[0]?.length ?? 0));
}

export function isMcpTrigger({ type }: Pick<INode, 'type'>): boolean {
  return type === '@n8n/n8n-nodes-langchain.mcpTrigger';
}

/** The task that calls belong to: the same for all that a run of the caller makes, no id where there is no execution. */
export function taskOf(
  context: ISupplyDataFunctions | IExecuteFunctions,
  { node, runIndex, startedAt }: Caller,
  type: string,
): { readonly type: string; readonly id?: string } {
  const execution = context.getExecutionId() as string | undefined;
  if (execution === undefined) return { type };
  return { type, id: ['n8n', execution, startedAt, node?.id, runIndex].join(':') };
}
