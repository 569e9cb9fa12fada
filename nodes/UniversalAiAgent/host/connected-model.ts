import { type IExecuteFunctions, type INode, type NodeConnectionType, NodeConnectionTypes } from 'n8n-workflow';

import type { Connected } from '../../../runtime/host';
import type { Item } from '../../shared/item';
import { isToolVariant } from '../read/tool-variant';

const TYPE = NodeConnectionTypes.AiLanguageModel;
const INPUTS = ['Model', 'Fallback'] as const;

/** The contexts of n8n have it; its types do not say so. */
interface HasConnections {
  /** The nodes at each input of a type. */
  readonly getConnections: (
    destination: INode,
    type: NodeConnectionType,
  ) => readonly (readonly { readonly node: string }[] | null | undefined)[];
}

/**
 * The chat models that are wired to the node, with their parameters for this item. Rejects with MODEL_UNUSABLE for what is no
 * chat model, and with n8n's own error when a sub-node fails.
 */
export async function readConnectedModels({
  context,
  library,
  index,
}: Item): Promise<Pick<Connected, 'model' | 'fallback'>> {
  const given: unknown = await context.getInputConnectionData(TYPE, index);
  const all: readonly unknown[] = Array.isArray(given) ? given : [];
  const [model, fallback] = byInput(context, all).map((one, input) =>
    one === undefined ? undefined : library.fromChatModel(one, INPUTS[input] ?? TYPE),
  );
  return { ...(model === undefined ? {} : { model }), ...(fallback === undefined ? {} : { fallback }) };
}

/** Whether a chat model is wired that answers in place of the tier's. Its node tells n8n's Logs panel what it spends. */
export function hasConnectedModel(context: IExecuteFunctions): boolean {
  return !isToolVariant(context) && placesByInput(context)[0] !== undefined;
}

function byInput(context: IExecuteFunctions, all: readonly unknown[]): readonly unknown[] {
  return placesByInput(context).map((place) => (place === undefined ? undefined : all[place]));
}

/**
 * Where the model of each input stands in n8n's list: it has what is connected to both inputs, in an order of its own and
 * without what is switched off, so that the only entry may belong to either of them.
 */
function placesByInput(context: IExecuteFunctions): readonly (number | undefined)[] {
  const node = context.getNode();
  const names = context
    .getParentNodes(node.name, { connectionType: TYPE, depth: 1 })
    .filter(({ disabled }) => !disabled)
    .map(({ name }) => name);
  const connections = (context as unknown as HasConnections).getConnections(node, TYPE);
  return INPUTS.map((_name, input) => {
    const place = names.indexOf(connections[input]?.[0]?.node ?? '');
    return place < 0 ? undefined : place;
  });
}
