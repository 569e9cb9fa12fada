import type { INodeCredentialDescription, INodeProperties } from 'n8n-workflow';

import { credentials, notOther, properties } from './description';

/** Credentials that version 2 offers behind a switch, with the ones that version 1 always offered. */
const always: Readonly<Record<string, Pick<INodeCredentialDescription, 'displayOptions' | 'required'>>> = {
  universalAiAgentVaultApi: { displayOptions: notOther, required: false },
  universalAiAgentSqlApi: { displayOptions: notOther, required: false },
  redis: { displayOptions: undefined },
};

/** Version 1 uses each credential that is chosen. */
export const credentialsOfVersion1 = credentials.map((credential): INodeCredentialDescription => ({
  ...credential,
  ...always[credential.name],
}));

const switches = ['useRedis', 'useSqlRole', 'useVaultKey'];

const memoryNotice: INodeProperties = {
  displayName: 'Without a connected <b>Memory</b> each message starts a new conversation.',
  name: 'memoryNotice',
  type: 'notice',
  default: '',
  displayOptions: { show: { operation: ['run'], inputMode: ['fields'] } },
};

/** The panel of version 2 without the switches, and with a notice where version 2 has a hint after a chat. */
export const propertiesOfVersion1 = withoutSwitches(properties).flatMap((property) => {
  if (property.name === 'systemPrompt') return [property, memoryNotice];
  if (property.type !== 'collection') return [property];
  return [{ ...property, options: withoutSwitches(property.options as INodeProperties[]) }];
});

function withoutSwitches(from: readonly INodeProperties[]): INodeProperties[] {
  return from.filter(({ name }) => !switches.includes(name));
}
