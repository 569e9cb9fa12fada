import type { IDataObject } from 'n8n-workflow';

import { isModelWritten } from '../../shared/callers/model-written';
import type { TaskItem } from '../../shared/item';
import { identityOf } from '../../shared/panel/identity';
import { readSetting, typedSetting } from './settings';
import { isToolVariant } from './tool-variant';

/** The ids as a task has them. Throws IDENTITY_UNTRUSTED. */
export function readIdentity(item: TaskItem): IDataObject {
  const { context, library } = item;
  const typed = typedSetting(context.getNode(), 'identity');
  // Most nodes have none, and reading a parameter takes n8n its time.
  if (typed === undefined || (typeof typed === 'object' && Object.keys(typed ?? {}).length === 0)) return {};
  if (isToolVariant(context) && isModelWritten(typed)) throw new library.RuntimeError('IDENTITY_UNTRUSTED');
  return identityOf(readSetting(item, 'identity') as IDataObject) as IDataObject;
}
