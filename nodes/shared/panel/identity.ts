import type { INodeProperties } from 'n8n-workflow';

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

/** The ids as a task has them; what an expression did not find is left out. */
export function identityOf(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const named = Object.entries(META_NAMES).map(([name, key]) => [key, given[name]] as const);
  return Object.fromEntries(named.filter(([, id]) => id !== undefined && id !== null && id !== ''));
}
