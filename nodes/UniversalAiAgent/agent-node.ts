import type { IExecuteFunctions, INodeExecutionData, INodeType, INodeTypeDescription } from 'n8n-workflow';

import type * as RuntimeLibrary from '../../runtime/host';
import { summarize, toNodeError } from '../shared/errors';
import { hintAtMemory, reportWarnings, type Warning } from '../shared/hints';
import type { Item, ItemOutcome } from '../shared/item';
import { getModels, getTiers } from '../shared/panel/model-pickers';
import { getSkills, getTenantTools, searchAgents, searchTenants } from '../shared/panel/pickers';
import { openChatStream } from './operations/chat-stream';
import { toErrorItem } from './operations/error-item';
import { forItems, itemsAtOnce } from './operations/for-items';
import { operationOf } from './operations/operations';
import { readShape, shapeOutput } from './operations/output-shape';
import { hintAtRuns } from './operations/run-summary';
import { showTenantTools } from './panel/pickers';
import { testSqlRole } from './panel/test-sql-role';
import { testVaultKey } from './panel/test-vault-key';
import { asCalled } from './read/as-called';
import { isToolVariant } from './read/tool-variant';

/** The agent node in one of its versions, which differ in their panel. */
export class AgentNode implements INodeType {
  constructor(readonly description: INodeTypeDescription) {}

  methods = {
    listSearch: { searchAgents, searchTenants },
    loadOptions: { getModels, getSkills, getTenantTools, getTiers, showTenantTools },
    credentialTest: { testSqlRole, testVaultKey },
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    // Loaded with the first run: n8n loads this file at every start, also where the node is never used.
    const library: typeof RuntimeLibrary = await import('../../runtime/host');
    const context = isToolVariant(this) ? asCalled(this, library) : this;
    const ended = await forItems(context, itemsAtOnce(this), (index, seen) =>
      runItem(this, { context: seen, library, index }),
    );
    const outcomes = ended.flatMap(({ outcome }) => outcome ?? []);
    const errors = ended.flatMap(({ error }) => error ?? []);
    hintAtRuns(
      this,
      ended.map(({ outcome, item }) => (outcome?.item ?? item).json),
    );
    hintAtMemory(this, outcomes);
    reportWarnings(this, [...outcomes.flatMap(({ warnings }) => warnings), ...errors]);
    return [ended.map(({ item }) => item)];
  }
}

interface EndedItem {
  readonly item: INodeExecutionData;
  readonly outcome?: ItemOutcome;
  readonly error?: Warning;
}

/** Rejects with an error of n8n where the node does not continue after one. */
async function runItem(node: IExecuteFunctions, item: Item): Promise<EndedItem> {
  const { index, library } = item;
  const chat = openChatStream(node, index);
  try {
    const shape = readShape(node, index, library);
    const outcome = await operationOf(node.getNode(), library)({ ...item, onEvent: chat?.onEvent });
    await chat?.finish(outcome.item.json);
    return { item: shapeOutput(outcome.item, shape, node.getInputData()[index]), outcome };
  } catch (error) {
    await chat?.fail(node.continueOnFail() ? (error as Error) : undefined);
    if (!node.continueOnFail()) throw toNodeError(node.getNode(), error, index);
    return { item: toErrorItem({ context: node, library, index }, error), error: summarize(error) };
  }
}
