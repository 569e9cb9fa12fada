import {
  type IExecuteFunctions,
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
  NodeConnectionTypes,
} from 'n8n-workflow';

import type * as RuntimeLibrary from '../../runtime';
import { DESCRIPTION } from '../shared/about';
import { toNodeError } from '../shared/errors';
import { inputs } from './host/connected';
import { openChatStream } from './operations/chat-stream';
import { toErrorItem } from './operations/error-item';
import { operationOf } from './operations/operations';
import { readShape, shapeOutput } from './operations/output-shape';
import { credentials, properties } from './panel/description';
import { reportWarnings } from './panel/hints';
import { getModels, getTenantTools, getTiers, searchTenants } from './panel/pickers';
import { testSqlRole } from './panel/test-sql-role';
import { testVaultKey } from './panel/test-vault-key';

export class UniversalAiAgent implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Universal AI Agent',
    name: 'universalAiAgent',
    icon: { light: 'file:universalAiAgent.svg', dark: 'file:universalAiAgent.dark.svg' },
    group: ['transform'],
    // A list, since n8n adds "Custom API Call" to the operations of nodes whose version is their only one.
    version: [1],
    defaultVersion: 1,
    subtitle:
      '={{ ({ enqueue: "enqueue task", getResult: "get result" })[$parameter["operation"]] || ($parameter["inputMode"] === "item" ? "task from item" : [($parameter["tenantId"] || {}).cachedResultName, $parameter["tier"] || "tenant default"].filter(Boolean).join(" · ")) }}',
    description: DESCRIPTION,
    defaults: { name: 'Universal AI Agent' },
    inputs,
    outputs: [NodeConnectionTypes.Main],
    usableAsTool: true,
    credentials,
    properties,
  };

  methods = {
    listSearch: { searchTenants },
    loadOptions: { getModels, getTenantTools, getTiers },
    credentialTest: { testSqlRole, testVaultKey },
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    // Loaded with the first run: n8n loads this file at every start, also where the node is never used.
    const library: typeof RuntimeLibrary = await import('../../runtime');
    const output: INodeExecutionData[] = [];
    const warnings: RuntimeLibrary.AgentResult['warnings'][number][] = [];

    for (let index = 0; index < this.getInputData().length; index++) {
      const chat = openChatStream(this, index);
      try {
        const shape = readShape(this, index, library);
        const operation = operationOf(this.getNode(), library);
        const { item, warnings: ofItem } = await operation({ context: this, library, index, onEvent: chat?.onEvent });
        warnings.push(...ofItem);
        await chat?.finish(item.json);
        output.push(shapeOutput(item, shape, this.getInputData()[index]));
      } catch (error) {
        await chat?.fail(this.continueOnFail() ? (error as Error) : undefined);
        if (!this.continueOnFail()) throw toNodeError(this.getNode(), error, index);
        output.push(toErrorItem({ context: this, library, index }, error));
      }
    }
    reportWarnings(this, warnings);
    return [output];
  }
}
