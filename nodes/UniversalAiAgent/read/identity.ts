import type { IDataObject, INodeProperties } from 'n8n-workflow';

import type { TaskItem } from '../../shared/item';
import { isModelWritten } from './model-written';
import { readSetting, typedSetting } from './settings';
import { isToolVariant } from './tool-variant';

const idField = (displayName: string, name: string, description: string): INodeProperties => ({
  displayName,
  name,
  type: 'string',
  default: '',
  description,
});

/** Who the task is for. Tools trust it, so no model may write it. */
export const identity: INodeProperties = {
  displayName: 'Input: Identity',
  name: 'identity',
  type: 'collection',
  placeholder: 'Add ID',
  default: {},
  description: 'Who the task is for. Tools get it beside their arguments; the model neither sees nor sets it.',
  options: [
    idField('Client ID', 'clientId', "The tenant's customer that the task is about"),
    idField('Dialog ID', 'dialogId', 'The conversation that the task belongs to'),
    idField(
      'Session ID',
      'sessionId',
      'The session that the task belongs to, for tools and bill. What is said is remembered by the field Session ID.',
    ),
    idField('User ID', 'userId', 'The person who asks. The audit of tool calls names them.'),
  ],
};

/** The field's name in the editor, and its name in the `meta` of a task. */
const META_NAMES = { clientId: 'client_id', dialogId: 'dialog_id', userId: 'user_id', sessionId: 'session_id' };

/** The ids as a task has them; what an expression did not find is left out. Throws IDENTITY_UNTRUSTED. */
export function readIdentity(item: TaskItem): IDataObject {
  const { context, library } = item;
  const typed = typedSetting(context.getNode(), 'identity');
  // Most nodes have none, and reading a parameter takes n8n its time.
  if (typed === undefined || (typeof typed === 'object' && Object.keys(typed ?? {}).length === 0)) return {};
  if (isToolVariant(context) && isModelWritten(typed)) throw new library.RuntimeError('IDENTITY_UNTRUSTED');
  const given = readSetting(item, 'identity') as IDataObject;
  const named = Object.entries(META_NAMES).map(([name, key]) => [key, given[name]] as const);
  return Object.fromEntries(named.filter(([, id]) => id !== undefined && id !== null && id !== ''));
}
