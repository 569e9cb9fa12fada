import type {
  EngineRequest,
  IExecuteData,
  IExecuteFunctions,
  INode,
  INodeExecutionData,
  IRunExecutionData,
  ISupplyDataFunctions,
  Workflow,
} from 'n8n-workflow';

/** Properties that the contexts of n8n have; its types do not say so. */
interface Internals {
  readonly workflow: Workflow;
  readonly parentNode?: INode;
  readonly connectionInputData: readonly INodeExecutionData[];
  readonly runExecutionData: IRunExecutionData | null;
  readonly runIndex: number;
}

export const internals = (context: unknown): Internals => context as Internals;

/** Request of an agent to the engine, and the entry by which the agent continues. */
interface Request {
  readonly entry: IExecuteData;
  readonly action: EngineRequest['actions'][number];
}

/** Finds the request that this run of the node answers; none where the agent calls the node itself. */
export function findRequest(context: IExecuteFunctions): Request | undefined {
  const { runExecutionData, runIndex } = internals(context);
  const { name } = context.getNode();
  const stack = runExecutionData?.executionData?.nodeExecutionStack ?? [];
  const found = stack.flatMap((entry) => {
    const actions = entry.metadata?.subNodeExecutionData?.actions ?? [];
    const ours = actions.filter((one) => one.nodeName === name && one.runIndex === runIndex);
    return ours.map(({ action }) => ({ entry, action }));
  });
  return found[0];
}

/** The context of a called node as it is for the agent: with the agent's items, and where they come from. */
export function asAgent(context: IExecuteFunctions, { data, runIndex = 0, ...entry }: IExecuteData): IExecuteFunctions {
  return Object.create(context, {
    connectionInputData: { value: data.main?.[0] ?? [] },
    executeData: { value: { ...entry, data, runIndex } },
    // That of this node counts the calls that a model has asked for.
    runIndex: { value: runIndex },
  }) as IExecuteFunctions;
}

/** Reports whether the node is itself called by a model: a tool of an agent, or a sub-node of one. */
export function isTool(workflow: Workflow, { name, type }: INode, seen: ReadonlySet<string> = new Set()): boolean {
  if (type.endsWith('Tool')) return true;
  const { main: _main, ai_tool: asTool = [], ...others } = workflow.connectionsBySourceNode[name] ?? {};
  if (asTool.some((targets) => (targets ?? []).length > 0)) return true;
  const targets = Object.values(others).flatMap((outputs) => outputs.flatMap((one) => one ?? []));
  return targets.some((target) => {
    const node = seen.has(target.node) ? null : workflow.getNode(target.node);
    return node !== null && isTool(workflow, node, new Set([...seen, name]));
  });
}

/** Context whose expressions see the items of an agent. */
export type SeesItems = Pick<ISupplyDataFunctions, 'evaluateExpression'>;
