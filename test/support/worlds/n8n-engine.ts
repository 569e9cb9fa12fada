import { randomUUID } from 'node:crypto';

import { WorkflowExecute } from 'n8n-core';
import {
  type ICredentialDataDecryptedObject,
  type ICredentialsHelper,
  type IExecuteFunctions,
  type INodeExecutionData,
  type INodeType,
  type INodeTypes,
  type IRun,
  type IWorkflowBase,
  type IWorkflowExecuteAdditionalData,
  NodeHelpers,
  type StructuredChunk,
  type VersionedNodeType,
  Workflow,
  type WorkflowExecuteMode,
} from 'n8n-workflow';

import { UniversalAiAgent } from '../../../nodes/UniversalAiAgent/UniversalAiAgent.node';

/** Gives the items of a test to the workflow. */
class ItemsNode implements INodeType {
  description = {
    displayName: 'Items',
    name: 'items',
    group: ['trigger'],
    version: 1,
    description: '',
    defaults: { name: 'Items' },
    inputs: [],
    outputs: ['main' as const],
    properties: [],
  } as unknown as INodeType['description'];

  execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    return Promise.resolve([this.getInputData()]);
  }
}

const NODES: Readonly<Record<string, INodeType | VersionedNodeType>> = {
  'n8n-nodes-universal-ai-agent.universalAiAgent': new UniversalAiAgent(),
  // What n8n makes of a node that is usable as a tool: the same code under another name.
  'n8n-nodes-universal-ai-agent.universalAiAgentTool': new UniversalAiAgent(),
  'test.items': new ItemsNode(),
};

function nodeTypes(more: Readonly<Record<string, INodeType>>): INodeTypes {
  const known = { ...NODES, ...more };
  return {
    getByName: (name: string) => known[name],
    getByNameAndVersion: (name: string, version?: number) => {
      const type = known[name];
      return type && NodeHelpers.getVersionedNodeType(type, version);
    },
    getKnownTypes: () => ({}),
  } as unknown as INodeTypes;
}

export interface EngineRun {
  readonly workflow: Pick<IWorkflowBase, 'nodes' | 'connections'>;
  readonly items: readonly INodeExecutionData['json'][];
  readonly credentials: Readonly<Record<string, ICredentialDataDecryptedObject>>;
  readonly mode?: WorkflowExecuteMode;
  /** Node types of the test beside ours, such as sub-nodes, by type. */
  readonly nodeTypes?: Readonly<Record<string, INodeType>>;
  /** Told of each chunk, as n8n does it for a chat that streams; without it nothing streams. */
  readonly onChunk?: (chunk: StructuredChunk) => void | Promise<void>;
  /** The same id again is what Retry on Fail looks like to a node. */
  readonly executionId?: string;
}

/** Runs exported workflow JSON through n8n's own engine, without a server. The workflow starts at a node of type `test.items`. */
export async function runInEngine({
  workflow: json,
  items,
  credentials,
  mode = 'webhook',
  executionId = randomUUID(),
  nodeTypes: more = {},
  onChunk,
}: EngineRun): Promise<IRun> {
  const settings = { executionOrder: 'v1' as const };
  const workflow = new Workflow({ ...json, id: 'test', active: false, nodeTypes: nodeTypes(more), settings });
  const start = json.nodes.find((node) => node.type === 'test.items');
  const additionalData = {
    executionId,
    credentialsHelper: {
      getDecrypted: (_data: unknown, _details: unknown, type: string) => Promise.resolve(credentials[type]),
      getCredentialsProperties: () => [],
      getParentTypes: () => [],
      isCredentialUsableByNode: () => true,
      runPreAuthentication: () => Promise.resolve(undefined),
      updateCredentialsOauthTokenData: () => Promise.resolve(),
    } as unknown as ICredentialsHelper,
    hooks: {
      handlers: { sendChunk: onChunk === undefined ? [] : [onChunk] },
      runHook: async (name: string, told: readonly [StructuredChunk]) => {
        if (name === 'sendChunk') await onChunk?.(told[0]);
      },
      addHandler: () => undefined,
    },
    streamingEnabled: onChunk !== undefined,
    currentNodeExecutionIndex: 0,
    variables: {},
    webhookWaitingBaseUrl: 'http://localhost/webhook-waiting',
    formWaitingBaseUrl: 'http://localhost/form-waiting',
  } as unknown as IWorkflowExecuteAdditionalData;
  const executor = new WorkflowExecute(additionalData, mode);
  const pinData = start === undefined ? {} : { [start.name]: items.map((json) => ({ json })) };
  return executor.run({ workflow, startNode: start, pinData });
}

/** The items that a node gave to one of its outputs. */
export function outputOf(run: IRun, nodeName: string, output = 0): readonly INodeExecutionData[] {
  return run.data.resultData.runData[nodeName]?.[0]?.data?.main?.[output] ?? [];
}
