import {
  type INodeType,
  type INodeTypeDescription,
  type ISupplyDataFunctions,
  NodeConnectionTypes,
  type SupplyData,
} from 'n8n-workflow';

import { getModels, getTiers } from '../shared/panel/model-pickers';
import { searchTenants } from '../shared/panel/pickers';
import { credentials, properties } from './panel';
import { supplyModel } from './supply-model';

export class TenantModel implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Tenant Model',
    name: 'tenantModel',
    icon: { light: 'file:tenantModel.svg', dark: 'file:tenantModel.dark.svg' },
    group: ['transform'],
    version: [1],
    defaultVersion: 1,
    subtitle:
      '={{ [($parameter["tenantId"] || {}).cachedResultName, $parameter["tier"] || "tenant default"].filter(Boolean).join(" · ") }}',
    description: "The chat model of a tenant's tier, under the budget of the tenant and on its bill",
    defaults: { name: 'Tenant Model' },
    inputs: [],
    outputs: [NodeConnectionTypes.AiLanguageModel],
    outputNames: ['Model'],
    credentials,
    properties,
  };

  methods = { listSearch: { searchTenants }, loadOptions: { getModels, getTiers } };

  /** Gives a chat model to nodes that ask it themselves. */
  async supplyData(this: ISupplyDataFunctions): Promise<SupplyData> {
    return supplyModel(this);
  }
}
