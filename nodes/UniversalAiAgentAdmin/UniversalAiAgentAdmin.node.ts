import {
  type IExecuteFunctions,
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
  NodeConnectionTypes,
} from 'n8n-workflow';

import type * as RuntimeLibrary from '../../runtime/host';
import { summarize, toNodeError } from '../shared/errors';
import { getAgents, getSkills, getTenantTools, searchTenants } from '../shared/panel/pickers';
import { operate } from './operate';
import { credentials, properties, subtitle } from './panel/description';
import { createTenant, getServers, getServersOrAll, getTiers, getToolArguments, getTools } from './pickers';
import { readConfig } from './read-config';

export class UniversalAiAgentAdmin implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Universal AI Agent Admin',
    name: 'universalAiAgentAdmin',
    icon: { light: 'file:universalAiAgentAdmin.svg', dark: 'file:universalAiAgentAdmin.dark.svg' },
    group: ['transform'],
    version: [1],
    defaultVersion: 1,
    subtitle,
    description:
      'Sets up the tenants, tools, models, budgets and secrets of the Universal AI Agent, and checks the installation',
    defaults: { name: 'Universal AI Agent Admin' },
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    credentials,
    properties,
  };

  methods = {
    listSearch: { searchTenants },
    loadOptions: { getAgents, getServers, getServersOrAll, getSkills, getTenantTools, getTiers, getTools },
    resourceMapping: { getToolArguments },
    actionHandler: { createTenant },
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    // Loaded with the first run: n8n loads this file at every start, also where the node is never used.
    const library: typeof RuntimeLibrary = await import('../../runtime/host');
    const output: INodeExecutionData[] = [];
    for (let index = 0; index < this.getInputData().length; index++) {
      try {
        const config = await readConfig(this, library);
        const items = await library.useRuntime(config, ({ admin }) =>
          operate(admin, { context: this, library, index }),
        );
        output.push(...items);
      } catch (error) {
        if (!this.continueOnFail()) throw toNodeError(this.getNode(), error, index);
        output.push({ json: { error: { ...summarize(error) } }, pairedItem: { item: index } });
      }
    }
    return [output];
  }
}
