import type { Connected } from '../../../runtime/host';
import type { Item } from '../../shared/item';
import { isToolVariant } from '../read/tool-variant';
import { readConnectedMemory } from './connected-memory';
import { readConnectedModels } from './connected-model';
import { readConnectedTools } from './connected-tools';
import { readOutputFormat } from './output-format';

/** What is wired to the node, with the parameters of this item. */
export async function readConnected(item: Item): Promise<Connected> {
  const format = readOutputFormat(item);
  if (isToolVariant(item.context)) return withFormat({}, await format);
  const [models, memory, tools, form] = await Promise.all([
    readConnectedModels(item),
    readConnectedMemory(item),
    readConnectedTools(item),
    format,
  ]);
  return withFormat({ ...models, ...(memory === undefined ? {} : { memory }), tools }, form);
}

function withFormat(connected: Connected, format: Connected['format']): Connected {
  return format === undefined ? connected : { ...connected, format };
}
