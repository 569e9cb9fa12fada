import type { IDataObject } from 'n8n-workflow';

import type { OwnMessages, Unanswered } from '../../../runtime/host';
import { isForCustomers } from '../../shared/callers/chat';
import { type Item, withOptions } from '../../shared/item';
import { readConfig, readTenantId } from '../read/request';

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

/** Adds a sentence for the customer to an item without an answer, unless its task is of a type that has none. */
export async function withSentence(item: Item, json: IDataObject, own: OwnMessages): Promise<IDataObject> {
  if (json.output !== '' || json.status === 'completed' || !isForCustomers(item.context.getNode())) return json;
  // Reports of the queue have a code, results of a run that waits have none.
  const { status, error_code: code } = json as { readonly status?: string; readonly error_code?: string };
  return { ...json, output: await sentenceFor(item, { code, status }, own) };
}
