import type { IDataObject, INode } from 'n8n-workflow';

import type { OwnMessages, Unanswered } from '../../../runtime/host';
import { type Item, withOptions } from '../../shared/item';
import { readConfig, readTenantId } from '../read/request';

/** Whether items and streams have a sentence for the customer in place of an answer; versions 1 to 3 put out what they did. */
export const hasSentences = ({ typeVersion }: INode): boolean => !(typeVersion <= 3);

/** The sentence that the customer of an item reads in place of an answer. Never rejects: without the tenant, as for the operations of the queue, which have no database, it is by `own` or in English. */
export async function sentenceFor(item: Item, about: Unanswered, own: OwnMessages): Promise<string> {
  const { library } = item;
  try {
    const given = withOptions(item);
    const tenantId = readTenantId(given);
    const config = await readConfig(given);
    return await library.useRuntime(config, (runtime) => runtime.customerMessage({ ...about, tenantId, own }));
  } catch {
    return library.customerMessage(about, { own: [own] });
  }
}

/** The item with a sentence for the customer if it has no answer, unless its task was of a type that has none. */
export async function withSentence(item: Item, json: IDataObject, own: OwnMessages): Promise<IDataObject> {
  if (json.output !== '' || json.status === 'completed' || !hasSentences(item.context.getNode())) return json;
  // Reports of the queue have a code, results of a run that waits have none.
  const { status, error_code: code } = json as { readonly status?: string; readonly error_code?: string };
  return { ...json, output: await sentenceFor(item, { code, status }, own) };
}
