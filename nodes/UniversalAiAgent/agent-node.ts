import type { IExecuteFunctions, INodeExecutionData, INodeType, INodeTypeDescription } from 'n8n-workflow';

import type * as RuntimeLibrary from '../../runtime/host';
import { summarize, toNodeError } from '../shared/errors';
import { hintAtMemory, reportWarnings, type Warning } from '../shared/hints';
import type { ItemOutcome } from '../shared/item';
import { getModels, getTiers } from '../shared/panel/model-pickers';
import { getSkills, getTenantTools, searchAgents, searchTenants } from '../shared/panel/pickers';
import { openChatStream } from './operations/chat-stream';
import { toErrorItem } from './operations/error-item';
import { operationOf } from './operations/operations';
import { readShape, shapeOutput } from './operations/output-shape';
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
    const output: INodeExecutionData[] = [];
    const outcomes: ItemOutcome[] = [];
    const errors: Warning[] = [];

    for (let index = 0; index < this.getInputData().length; index++) {
      const chat = openChatStream(this, index);
      try {
        const shape = readShape(this, index, library);
        const operation = operationOf(this.getNode(), library);
        const outcome = await operation({ context, library, index, onEvent: chat?.onEvent });
        outcomes.push(outcome);
        await chat?.finish(outcome.item.json);
        output.push(shapeOutput(outcome.item, shape, this.getInputData()[index]));
      } catch (error) {
        await chat?.fail(this.continueOnFail() ? (error as Error) : undefined);
        if (!this.continueOnFail()) throw toNodeError(this.getNode(), error, index);
        errors.push(summarize(error));
        output.push(toErrorItem({ context: this, library, index }, error));
      }
    }
    hintAtMemory(this, outcomes);
    reportWarnings(this, [...outcomes.flatMap(({ warnings }) => warnings), ...errors]);
    return [output];
  }
}
