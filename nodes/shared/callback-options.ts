import type { IDataObject, INodeProperties } from 'n8n-workflow';

import type { RuntimeConfig } from '../../runtime/host';

export const callbackHosts: INodeProperties = {
  displayName: 'Callback: Hosts',
  name: 'callbackHosts',
  type: 'string',
  default: '',
  placeholder: 'e.g. app.example.com, *.internal.example.com',
  description:
    'Hosts that webhooks of tasks may call, with commas between them; these may be private ones. Set this when answers go to servers of your own. Empty means any public host, or those of the tenant.',
};

export const callbackKeyPrefixes: INodeProperties = {
  displayName: 'Callback: Key Prefixes',
  name: 'callbackKeyPrefixes',
  type: 'string',
  default: 'elo:results:, elo:counter:, elo:status:',
  description:
    'How the Redis keys have to begin that tasks may be answered on, with commas between them. Set this when producers wait on keys of another form.',
};

/** Where answers may go that a task asks for; the same for the node and for the trigger, which answers for lost tasks. */
export const callbackOptions: INodeProperties[] = [callbackHosts, callbackKeyPrefixes];

/** The options above as the runtime's configuration; what is empty is left to it. */
export function readCallbacks(options: IDataObject): NonNullable<RuntimeConfig['callbacks']> {
  const hosts = readList(options.callbackHosts);
  const keyPrefixes = readList(options.callbackKeyPrefixes);
  return { ...(hosts.length === 0 ? {} : { hosts }), ...(keyPrefixes.length === 0 ? {} : { keyPrefixes }) };
}

function readList(text: unknown): readonly string[] {
  if (typeof text !== 'string') return [];
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
