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

/** The panel of version 2 without the switches. */
export const propertiesOfVersion1 = withoutSwitches(properties).map((property) =>
  property.type === 'collection'
    ? { ...property, options: withoutSwitches(property.options as INodeProperties[]) }
    : property,
);

function withoutSwitches(from: readonly INodeProperties[]): INodeProperties[] {
  return from.filter(({ name }) => !switches.includes(name));
}
