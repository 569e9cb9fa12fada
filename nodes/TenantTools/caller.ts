import {
  type IDataObject,
  type IExecuteData,
  type IExecuteFunctions,
  type INode,
  NodeConnectionTypes,
  NodeHelpers,
} from 'n8n-workflow';

import { type Caller, startOf } from '../shared/callers/caller';
import { asAgent, findRequest, internals } from '../shared/callers/engine-request';
import type { Library } from '../shared/item';
import { isShown } from './reviewed-call';

/** A call that the engine makes for an agent, which has asked for it. */
export interface EngineCall {
  readonly caller: Caller;
  readonly tool: string;
  /** Arguments as the model wrote them, without the item that n8n lays them over. */
  readonly arguments: IDataObject;
}

const AI_AGENT = '@n8n/n8n-nodes-langchain.agent';
/** Nodes that are known to show a model JSON Schema as it is; others read one of zod. */
const SHOW_SCHEMAS = [AI_AGENT, '@n8n/n8n-nodes-langchain.agentTool', 'n8n-nodes-universal-ai-agent.universalAiAgent'];

/** Reports whether the caller shows a model the schemas that it is given. */
export function showsSchemas({ node, review }: Caller): boolean {
  return review === undefined && node !== undefined && SHOW_SCHEMAS.includes(node.type);
}

/** Reports whether the engine makes the calls, which has the name of the tool among the arguments. */
export function usesEngine({ node, review }: Caller): boolean {
  return review !== undefined || (node?.type === AI_AGENT && node.typeVersion >= 3);
}

/**
 * The call that `execute` is made for. The item that n8n gives is the agent's with the model's arguments over it, so neither is
 * taken from there: both stand apart in what the engine keeps until the agent continues. Throws CALLER_UNKNOWN, or
 * APPROVAL_OF_OTHER_CALL.
 */
export function engineCall(context: IExecuteFunctions, library: Library): EngineCall {
  const { entry, action } = findRequest(context) ?? {};
  const { tool, ...written } = withoutAbsent(action?.input ?? {});
  if (entry === undefined || typeof tool !== 'string') throw new library.RuntimeError('CALLER_UNKNOWN');
  const call = { tool, arguments: written };
  const review = reviewBefore(context, action?.metadata);
  if (review !== undefined && !wasShown(context, review, call)) {
    throw new library.RuntimeError('APPROVAL_OF_OTHER_CALL', { tool });
  }
  return { caller: { ...agentOf(context, entry), review }, ...call };
}

function wasShown(context: IExecuteFunctions, review: INode, call: Pick<EngineCall, 'tool' | 'arguments'>): boolean {
  const { runExecutionData, runIndex } = internals(context);
  const { runData = {} } = runExecutionData?.resultData ?? {};
  const called = runData[context.getNode().name]?.slice(0, runIndex);
  return isShown(review, { asked: runData[review.name], called }, call);
}

/** n8n names the input of a call without parameters, and gives none. */
function withoutAbsent(input: IDataObject): IDataObject {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}

/** The node that has asked a person for the call; undefined where an agent has asked for it itself. */
function reviewBefore(context: IExecuteFunctions, metadata: unknown): INode | undefined {
  const { workflow } = internals(context);
  const { parentNodeName = '' } = (metadata ?? {}) as { readonly parentNodeName?: string };
  const isWired = workflow
    .getChildNodes(context.getNode().name, NodeConnectionTypes.AiTool, 1)
    .includes(parentNodeName);
  const node = isWired ? workflow.getNode(parentNodeName) : null;
  return node !== null && NodeHelpers.isHitlToolType(node.type) ? node : undefined;
}

function agentOf(context: IExecuteFunctions, entry: IExecuteData): Caller {
  const { node, data, runIndex = 0 } = entry;
  const startedAt = startOf(internals(context).runExecutionData);
  return { node, context: asAgent(context, entry), items: data.main?.[0] ?? [], runIndex, startedAt };
}
