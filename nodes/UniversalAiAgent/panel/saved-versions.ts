import type { IDisplayOptions, INodeCredentialDescription, INodeProperties } from 'n8n-workflow';

import type { MovedSetting } from '../read/settings';
import { credentials, notOther, properties } from './description';

const simplifyOutput: INodeProperties = {
  displayName: 'Output: Simplify',
  name: 'simplifyOutput',
  type: 'boolean',
  default: false,
  description:
    'Whether to put only the answer into the item, as the AI Agent node does. Set this when a node behind takes the whole item, such as a table.',
  displayOptions: { show: { '/operation': ['run'] } },
};

/** Panel of version 3, derived from version 4. */
export const propertiesOfVersion3 = properties.map((property) =>
  withOptions(property, (option) => {
    if (!['outputDetails', 'customerMessages'].includes(option.name)) return [option];
    // Get Result, where both are always shown, had no such option.
    return option.name === 'outputDetails' && option.displayOptions !== undefined ? [simplifyOutput] : [];
  }),
);

/** Options that are parameters of their own in versions 1 and 2, with what was different. */
const MOVED: Readonly<Record<MovedSetting, Partial<INodeProperties>>> = {
  inputMode: { displayName: 'Input Mode', default: 'fields' },
  modelProvider: { displayName: 'Model Provider', default: 'openRouter' },
  context: { displayName: 'Context' },
  identity: { displayName: 'Identity' },
  useRedis: { displayName: 'Use Redis', default: false },
};

/** Parameters that came with version 3. */
const NEW = ['options.useRedis', 'tenantTools', 'agent', 'mode', 'sessionId'];

const isMoved = (name: string): boolean => Object.hasOwn(MOVED, name);

/** The panel of version 2, made of that of version 3. */
export const propertiesOfVersion2 = propertiesOfVersion3
  .filter(({ name }) => !NEW.includes(name))
  .flatMap((property) => (property.name === 'hasOutputParser' ? [...movedProperties(), property] : [property]))
  .map((property) => withConditions(property, (key) => (key === 'options.inputMode' ? 'inputMode' : key)))
  .map((property) => withOptions(property, (option) => (isMoved(option.name) ? [] : [besideMoved(option)])));

function movedProperties(): INodeProperties[] {
  const options = propertiesOfVersion3.find(({ name }) => name === 'options')?.options as INodeProperties[];
  return Object.entries(MOVED).map(([name, old]) => {
    const option = options.find((one) => one.name === name) as INodeProperties;
    const { displayOptions, ...property } = withConditions(option, (key) => key.replace(/^\//, ''));
    const show = { operation: ['run', 'enqueue'], ...displayOptions?.show };
    return { ...property, ...old, displayOptions: { ...displayOptions, show } };
  });
}

/** An option whose neighbours in version 3 are parameters of the node. */
function besideMoved(option: INodeProperties): INodeProperties {
  return withConditions(option, (key) => (isMoved(key) ? `/${key}` : key));
}

/** The property, shown by parameters of other names. */
function withConditions(property: INodeProperties, rename: (key: string) => string): INodeProperties {
  if (property.displayOptions === undefined) return property;
  const renamed = (conditions: object = {}): object =>
    Object.fromEntries(Object.entries(conditions).map(([key, values]) => [rename(key), values as unknown]));
  const { show, hide } = property.displayOptions;
  return { ...property, displayOptions: { show: renamed(show), hide: renamed(hide) } as IDisplayOptions };
}

function withOptions(
  property: INodeProperties,
  change: (option: INodeProperties) => readonly INodeProperties[],
): INodeProperties {
  if (property.type !== 'collection') return property;
  return { ...property, options: (property.options as INodeProperties[]).flatMap(change) };
}

type Changes = Readonly<Record<string, Pick<INodeCredentialDescription, 'displayOptions' | 'required'>>>;

const withChanges = (from: readonly INodeCredentialDescription[], changes: Changes): INodeCredentialDescription[] =>
  from.map((credential) => ({ ...credential, ...changes[credential.name] }));

/** `hide`, not `show`: a parameter that shows all credentials is taken for the node's authentication (ADR 1). */
export const credentialsOfVersion2 = withChanges(credentials, {
  openRouterApi: { displayOptions: { hide: { modelProvider: ['openAiCompatible'], ...notOther.hide } } },
  openAiApi: { displayOptions: { hide: { modelProvider: ['openRouter'], ...notOther.hide } } },
  redis: { displayOptions: { hide: { useRedis: [false] } } },
});

/** Version 1 uses each credential that is chosen. */
export const credentialsOfVersion1 = withChanges(credentialsOfVersion2, {
  universalAiAgentVaultApi: { displayOptions: notOther, required: false },
  universalAiAgentSqlApi: { displayOptions: notOther, required: false },
  redis: { displayOptions: undefined },
});

const switches = ['useRedis', 'useSqlRole', 'useVaultKey'];

const memoryNotice: INodeProperties = {
  displayName: 'Without a connected <b>Memory</b> each message starts a new conversation.',
  name: 'memoryNotice',
  type: 'notice',
  default: '',
  displayOptions: { show: { operation: ['run'], inputMode: ['fields'] } },
};

/** The panel of version 2 without the switches, and with a notice where later versions have a hint after a chat. */
export const propertiesOfVersion1 = propertiesOfVersion2
  .filter(({ name }) => !switches.includes(name))
  .map((property) => withOptions(property, (option) => (switches.includes(option.name) ? [] : [option])))
  .flatMap((property) => (property.name === 'systemPrompt' ? [property, memoryNotice] : [property]));
