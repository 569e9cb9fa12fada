import {
  NodeConnectionTypes,
  type IExecuteFunctions,
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
} from 'n8n-workflow';

import type * as RuntimeDoor from '../../runtime';
import { credentials, properties } from './description';
import { readEgress } from './egress';
import { toErrorItem, toNodeError } from './errors';
import { reportWarnings } from './hints';
import { readMcpServers } from './mcp-servers';
import { getTenantTools, searchTenants } from './pickers';
import { readConfig, readTask } from './request';
import { toItem } from './result';
import { testSqlRole } from './test-sql-role';
import { testVaultKey } from './test-vault-key';

export class UniversalAiAgent implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Universal AI Agent',
    name: 'universalAiAgent',
    icon: { light: 'file:universalAiAgent.svg', dark: 'file:universalAiAgent.dark.svg' },
    group: ['transform'],
    version: 1,
    subtitle: '={{ $parameter["inputMode"] === "item" ? "task from item" : $parameter["tier"] || "tenant default" }}',
    description: 'One agent for every tenant and tier: tools from the database, a real tool loop, exact cost',
    defaults: { name: 'Universal AI Agent' },
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    usableAsTool: true,
    credentials,
    properties,
  };

  methods = {
    listSearch: { searchTenants },
    loadOptions: { getTenantTools },
    credentialTest: { testSqlRole, testVaultKey },
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    // Loaded with the first run: n8n loads this file at every start, also where the node is never used.
    const door: typeof RuntimeDoor = await import('../../runtime');
    const output: INodeExecutionData[] = [];
    const warnings: RuntimeDoor.AgentResult['warnings'][number][] = [];

    for (let itemIndex = 0; itemIndex < this.getInputData().length; itemIndex++) {
      try {
        const [config, mcpServers] = await Promise.all([
          readConfig(this, door, itemIndex),
          readMcpServers(this, itemIndex),
        ]);
        const result = await door.useRuntime(config, (runtime) =>
          runtime.run(readTask(this, door, itemIndex), {
            signal: this.getExecutionCancelSignal(),
            fresh: this.getMode() === 'manual',
            mcpServers,
            egress: readEgress(this),
          }),
        );
        warnings.push(...result.warnings);
        output.push(toItem(result, itemIndex));
      } catch (error) {
        if (!this.continueOnFail()) throw toNodeError(this, error, itemIndex);
        output.push(toErrorItem(this, error, itemIndex));
      }
    }
    reportWarnings(this, warnings);
    return [output];
  }
}
