import { type INodeTypeDescription, NodeConnectionTypes, VersionedNodeType } from 'n8n-workflow';

import { DESCRIPTION } from '../shared/about';
import { AgentNode } from './agent-node';
import { credentials, properties } from './panel/description';
import { inputs } from './panel/inputs';
import {
  credentialsOfVersion1,
  credentialsOfVersion2,
  propertiesOfVersion1,
  propertiesOfVersion2,
  propertiesOfVersion3,
} from './panel/saved-versions';

const about = {
  displayName: 'Universal AI Agent',
  name: 'universalAiAgent',
  icon: { light: 'file:universalAiAgent.svg', dark: 'file:universalAiAgent.dark.svg' },
  group: ['transform'],
  defaultVersion: 4,
  subtitle:
    '={{ ({ enqueue: "enqueue task", getResult: "get result" })[$parameter["operation"]] || ([$parameter["inputMode"], ($parameter["options"] || {}).inputMode].includes("item") ? "task from item" : [($parameter["tenantId"] || {}).cachedResultName, $parameter["tier"] || "tenant default"].filter(Boolean).join(" · ")) }}',
  description: DESCRIPTION,
} satisfies Partial<INodeTypeDescription>;

const shared = {
  ...about,
  defaults: { name: 'Universal AI Agent' },
  inputs,
  outputs: [NodeConnectionTypes.Main],
  usableAsTool: {
    replacements: {
      description: "Lets another agent ask a tenant's agent, with the tools, the model and the budget of that tenant",
    },
  },
};

export class UniversalAiAgent extends VersionedNodeType {
  constructor() {
    const versions = {
      // Lists of versions, since n8n adds "Custom API Call" to the operations of a version that is the default one.
      1: new AgentNode({
        ...shared,
        version: [1],
        credentials: credentialsOfVersion1,
        properties: propertiesOfVersion1,
      }),
      2: new AgentNode({
        ...shared,
        version: [2],
        credentials: credentialsOfVersion2,
        properties: propertiesOfVersion2,
      }),
      3: new AgentNode({ ...shared, version: [3], credentials, properties: propertiesOfVersion3 }),
      4: new AgentNode({ ...shared, version: [4], credentials, properties }),
    };
    super(versions, about);
  }
}
