import {
  type IDataObject,
  type IExecuteFunctions,
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
  type ISupplyDataFunctions,
  NodeConnectionTypes,
  type SupplyData,
} from 'n8n-workflow';

import type * as RuntimeLibrary from '../../runtime/host';
import { toNodeError, toTextError } from '../shared/errors';
import { getTenantTools, searchAgents, searchTenants } from '../shared/panel/pickers';
import { callTool, readConfig } from './call';
import { engineCall } from './caller';
import { credentials, properties } from './panel';
import { readQuery } from './read-query';
import { supplyTools } from './supply-tools';

export class TenantTools implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Tenant Tools',
    name: 'tenantTools',
    icon: { light: 'file:tenantTools.svg', dark: 'file:tenantTools.dark.svg' },
    group: ['transform'],
    version: [1],
    defaultVersion: 1,
    subtitle: '={{ ($parameter["tenantId"] || {}).cachedResultName || "" }}',
    description: "Gives an AI agent or an MCP server the tools of one tenant, under the tenant's rules and limits",
    defaults: { name: 'Tenant Tools' },
    inputs: [],
    outputs: [NodeConnectionTypes.AiTool],
    outputNames: ['Tools'],
    credentials,
    properties,
  };

  methods = { listSearch: { searchAgents, searchTenants }, loadOptions: { getTenantTools } };

  /** Gives tools to nodes that call them themselves. */
  async supplyData(this: ISupplyDataFunctions): Promise<SupplyData> {
    return supplyTools(this);
  }

  /** Makes a call for an agent that has the engine make it: n8n's AI Agent since version 3. */
  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const library: typeof RuntimeLibrary = await import('../../runtime/host');
    const signal = this.getExecutionCancelSignal();
    const outcome = await (async () => {
      const { caller, ...call } = engineCall(this, library);
      const query = await readQuery(this, caller, library);
      const config = await readConfig(this, library);
      return callTool(this, { query, config, library }, { ...call, signal });
    })().catch((error: unknown) => {
      throw toNodeError(this.getNode(), error);
    });
    // What n8n would try again may have been done.
    const isThrown = this.getNode().retryOnFail !== true;
    if (outcome.error !== undefined && isThrown) throw toTextError(this.getNode(), outcome.error);
    const { value: response = { error: outcome.error } } = outcome as { readonly value?: unknown };
    return [[{ json: { response: response as IDataObject }, pairedItem: { item: 0 } }]];
  }
}
